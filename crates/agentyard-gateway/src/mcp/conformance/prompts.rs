use rmcp::{
    ErrorData, RoleServer,
    model::{
        ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt, PromptArgument,
        PromptMessage, Role,
    },
    service::RequestContext,
};

use super::{ConformanceFixtures, RED_PIXEL_PNG, input_required, resources};

const SIMPLE: &str = "test_simple_prompt";
const WITH_ARGUMENTS: &str = "test_prompt_with_arguments";
const WITH_EMBEDDED_RESOURCE: &str = "test_prompt_with_embedded_resource";
const WITH_IMAGE: &str = "test_prompt_with_image";
const INPUT_REQUIRED: &str = "test_input_required_result_prompt";

impl ConformanceFixtures {
    pub(crate) fn prompts(&self) -> Vec<Prompt> {
        let argument = |name: &str, description: &str| {
            PromptArgument::new(name)
                .with_description(description)
                .with_required(true)
        };
        vec![
            Prompt::new(SIMPLE, Some("A prompt without arguments"), None),
            Prompt::new(
                WITH_ARGUMENTS,
                Some("A prompt with two arguments"),
                Some(vec![
                    argument("arg1", "First test argument"),
                    argument("arg2", "Second test argument"),
                ]),
            ),
            Prompt::new(
                WITH_EMBEDDED_RESOURCE,
                Some("A prompt that embeds a resource"),
                Some(vec![argument("resourceUri", "Address of the resource to embed")]),
            ),
            Prompt::new(WITH_IMAGE, Some("A prompt with an image"), None),
            Prompt::new(
                INPUT_REQUIRED,
                Some("A prompt that asks the client for input first"),
                None,
            ),
        ]
    }

    /// `None` for a prompt that is not a fixture.
    pub(crate) fn get_prompt(
        &self,
        params: &GetPromptRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<GetPromptResponse, ErrorData>> {
        let messages = match params.name.as_str() {
            SIMPLE => Ok(vec![text("This is a simple prompt for testing.")]),
            WITH_ARGUMENTS => with_arguments(params),
            WITH_EMBEDDED_RESOURCE => with_embedded_resource(params),
            WITH_IMAGE => Ok(vec![
                PromptMessage::new(Role::User, ContentBlock::image(RED_PIXEL_PNG, "image/png")),
                text("Please analyze the image above."),
            ]),
            INPUT_REQUIRED => return Some(input_required::prompt(params, context)),
            _ => return None,
        };
        Some(messages.map(|messages| GetPromptResult::new(messages).into()))
    }
}

pub(super) fn text(text: impl Into<String>) -> PromptMessage {
    PromptMessage::new(Role::User, ContentBlock::text(text))
}

fn with_arguments(params: &GetPromptRequestParams) -> Result<Vec<PromptMessage>, ErrorData> {
    let (first, second) = (argument(params, "arg1")?, argument(params, "arg2")?);
    Ok(vec![text(format!(
        "Prompt with arguments: arg1='{first}', arg2='{second}'"
    ))])
}

fn with_embedded_resource(params: &GetPromptRequestParams) -> Result<Vec<PromptMessage>, ErrorData> {
    let uri = argument(params, "resourceUri")?;
    let resource = resources::text(uri, "text/plain", "Embedded resource content for testing.");
    Ok(vec![
        PromptMessage::new(Role::User, ContentBlock::resource(resource)),
        text("Please process the embedded resource above."),
    ])
}

fn argument<'params>(params: &'params GetPromptRequestParams, name: &str) -> Result<&'params str, ErrorData> {
    let value = params
        .arguments
        .as_ref()
        .and_then(|arguments| arguments.get(name)?.as_str());
    value.ok_or_else(|| ErrorData::invalid_params(format!("the argument `{name}` is missing"), None))
}
