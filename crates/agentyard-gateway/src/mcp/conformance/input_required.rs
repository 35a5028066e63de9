//! Tools, and one prompt, of the stateless revision that cannot answer before the client has: they return the
//! requests that the client should fulfil, and are called again with its responses.

use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitResult,
        GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequest, InputRequests,
        InputRequiredResult, InputResponses,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use super::{ConformanceFixtures, client_requests, declared, prompts};

pub(super) const TOOLS: &[(&str, &str)] = &[
    (
        "test_streaming_elicitation",
        "Asks for a name, as a result and never as a request of its own",
    ),
    ("test_input_required_result_elicitation", "Asks for a name"),
    (
        "test_input_required_result_sampling",
        "Asks the client's model for a capital",
    ),
    (
        "test_input_required_result_list_roots",
        "Asks for the client's roots",
    ),
    (
        "test_input_required_result_request_state",
        "Asks for a confirmation and gets its own state back",
    ),
    (
        "test_input_required_result_multiple_inputs",
        "Asks for a name, a greeting and the roots at once",
    ),
    (
        "test_input_required_result_multi_round",
        "Asks for a name, then for a colour",
    ),
    (
        "test_input_required_result_tampered_state",
        "Refuses a state that was altered",
    ),
    (
        "test_input_required_result_capabilities",
        "Asks only for what the client declared",
    ),
];

impl ConformanceFixtures {
    /// `None` for a tool that is not a fixture.
    pub(super) fn call_input_required_tool(
        &self,
        params: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<CallToolResponse, ErrorData>> {
        let round = Round {
            responses: params.input_responses.as_ref(),
            state: params.request_state.as_deref(),
        };
        Some(match params.name.as_ref() {
            "test_input_required_result_elicitation" | "test_streaming_elicitation" => one_name(round),
            "test_input_required_result_sampling" => one(
                "capital_question",
                sampling("What is the capital of France?"),
                round,
            ),
            "test_input_required_result_list_roots" => one("client_roots", roots(), round),
            "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
                self.confirmation(round)
            }
            "test_input_required_result_multiple_inputs" => self.several(round),
            "test_input_required_result_multi_round" => self.two_rounds(round),
            "test_input_required_result_capabilities" => only_declared(context),
            _ => return None,
        })
    }

    fn confirmation(&self, round: Round<'_>) -> Result<CallToolResponse, ErrorData> {
        if round.response("confirm").is_none() {
            let request = question("Please confirm", "ok", "boolean")?;
            return Ok(asked([("confirm", request)], Some(self.seal("confirm"))));
        }
        self.unseal(round.state)?;
        Ok(done("state-ok"))
    }

    fn several(&self, round: Round<'_>) -> Result<CallToolResponse, ErrorData> {
        let requests = [
            ("user_name", question("What is your name?", "name", "string")?),
            ("greeting", sampling("Generate a greeting")),
            ("client_roots", roots()),
        ];
        if requests.iter().any(|(key, _)| round.response(key).is_none()) {
            return Ok(asked(requests, Some(self.seal("several"))));
        }
        self.unseal(round.state)?;
        Ok(done("All three were answered"))
    }

    fn two_rounds(&self, round: Round<'_>) -> Result<CallToolResponse, ErrorData> {
        if round.response("step2").is_some() && self.unseal(round.state)? == "colour" {
            return Ok(done("Both rounds were answered"));
        }
        if round.response("step1").is_some() && self.unseal(round.state)? == "name" {
            let request = question("Step 2: What is your favorite color?", "color", "string")?;
            return Ok(asked([("step2", request)], Some(self.seal("colour"))));
        }
        let request = question("Step 1: What is your name?", "name", "string")?;
        Ok(asked([("step1", request)], Some(self.seal("name"))))
    }
}

pub(super) fn prompt(
    params: &GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    // An older client cannot answer an `input_required`, and rmcp would turn it into an error that says less.
    if super::is_legacy(context) {
        return Err(ErrorData::invalid_params(
            "this prompt needs a client of revision 2026-07-28",
            None,
        ));
    }
    let round = Round {
        responses: params.input_responses.as_ref(),
        state: None,
    };
    match round.elicited("user_context", "context")? {
        Some(answer) => {
            Ok(GetPromptResult::new(vec![prompts::text(format!("Prompt with context: {answer}"))]).into())
        }
        None => {
            let request = question("What context should the prompt use?", "context", "string")?;
            Ok(required([("user_context", request)], None).into())
        }
    }
}

/// What a client brings when it calls again; nothing at first.
#[derive(Clone, Copy)]
struct Round<'params> {
    responses: Option<&'params InputResponses>,
    state: Option<&'params str>,
}

impl<'params> Round<'params> {
    fn response(self, key: &str) -> Option<&'params Value> {
        self.responses?.get(key)
    }

    /// The field of an accepted form. `None` when the response is missing: it is asked for again, not
    /// refused.
    fn elicited(self, key: &str, field: &str) -> Result<Option<String>, ErrorData> {
        let Some(response) = self.response(key) else {
            return Ok(None);
        };
        let result: ElicitResult = serde_json::from_value(response.clone()).map_err(|error| {
            ErrorData::invalid_params(
                format!("inputResponses.{key} is not an elicitation result: {error}"),
                None,
            )
        })?;
        let value = result.content.as_ref().and_then(|content| content.get(field));
        Ok(Some(value.and_then(Value::as_str).unwrap_or_default().to_owned()))
    }
}

fn one_name(round: Round<'_>) -> Result<CallToolResponse, ErrorData> {
    match round.elicited("user_name", "name")? {
        Some(name) => Ok(done(format!("Hello, {name}!"))),
        None => Ok(asked(
            [("user_name", question("What is your name?", "name", "string")?)],
            None,
        )),
    }
}

fn one(key: &'static str, request: InputRequest, round: Round<'_>) -> Result<CallToolResponse, ErrorData> {
    match round.response(key) {
        Some(response) => Ok(done(format!("The client answered {response}"))),
        None => Ok(asked([(key, request)], None)),
    }
}

fn only_declared(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    let declared = declared(context);
    let mut requests = Vec::new();
    if declared.elicitation.is_some() {
        requests.push(("user_name", question("What is your name?", "name", "string")?));
    }
    if declared.sampling.is_some() {
        requests.push(("greeting", sampling("Generate a greeting")));
    }
    if declared.roots.is_some() {
        requests.push(("client_roots", roots()));
    }
    if requests.is_empty() {
        return Ok(done("The client declared nothing that could be asked for"));
    }
    Ok(asked(requests, None))
}

fn question(message: &str, field: &str, kind: &str) -> Result<InputRequest, ErrorData> {
    let schema = json!({ "type": "object", "properties": { field: { "type": kind } }, "required": [field] });
    client_requests::form(message, schema).map(InputRequest::Elicitation)
}

fn sampling(text: &str) -> InputRequest {
    use rmcp::model::{CreateMessageRequest, CreateMessageRequestParams, SamplingMessage};
    let params = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(text)], 100);
    InputRequest::CreateMessage(CreateMessageRequest::new(params))
}

fn roots() -> InputRequest {
    InputRequest::ListRoots(rmcp::model::ListRootsRequest::default())
}

fn asked(
    requests: impl IntoIterator<Item = (&'static str, InputRequest)>,
    state: Option<String>,
) -> CallToolResponse {
    required(requests, state).into()
}

fn required(
    requests: impl IntoIterator<Item = (&'static str, InputRequest)>,
    state: Option<String>,
) -> InputRequiredResult {
    let requests: InputRequests = requests
        .into_iter()
        .map(|(key, request)| (key.to_owned(), request))
        .collect();
    InputRequiredResult::new(Some(requests), state)
}

fn done(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}
