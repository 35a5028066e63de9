//! Tokens: made, listed, revoked.

use agentyard_model::{
    Cursor, Page, PageRequest, Permission, Permissions, RoleName, Timestamp, Token, TokenFilter, TokenId,
    TokenName, Toolset,
};
use agentyard_services::{IssuedToken, Result, TokenRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::level::{Level, LevelledField};
use crate::operation::{Access, Context, Effect, Operation, Route};
use crate::output::Output;
use crate::registry::Entry;

pub(crate) const ALL: &[Entry] = &[
    Entry::of::<TokenCreate>(),
    Entry::of::<TokenList>(),
    Entry::of::<TokenRevoke>(),
];

struct TokenCreate;

/// Make a token with which a program or an agent can call Agentyard. It never holds
/// more than you do, ends when you lose your rights, and is shown once.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TokenCreateInput {
    /// What it is for, for example `ci` or `claude-laptop`.
    name: TokenName,
    /// Role whose toolsets it sees: `dev` (default), `ops`, `ui`, `admin`, or one of your own.
    role: Option<RoleName>,
    /// Permissions it gets; by default all of its role that you hold, without `deploy:*`.
    permissions: Option<Vec<Permission>>,
    /// Days until it ends; by default 90.
    #[schemars(range(min = 1, max = 3650))]
    expires_in_days: Option<u32>,
}

/// A token just made.
#[derive(Serialize, JsonSchema)]
struct IssuedTokenView {
    /// The token itself. It is not shown again: keep it now.
    secret: String,
    #[serde(flatten)]
    token: TokenView,
    /// Permissions that were asked for and not granted, because you or the role lack them.
    #[serde(skip_serializing_if = "Permissions::is_empty")]
    dropped_permissions: Permissions,
}

impl Output for IssuedTokenView {}

impl Operation for TokenCreate {
    const NAME: &'static str = "token_create";
    const TOOLSET: Toolset = Toolset::Admin;
    const EFFECT: Effect = Effect::Write;
    const ACCESS: Access = Access::Holds(Permission::AdminUsers);
    const ROUTE: Route = Route::post("/v1/tokens");
    type Input = TokenCreateInput;
    type Output = IssuedTokenView;

    async fn call(context: Context<'_>, input: TokenCreateInput) -> Result<IssuedTokenView> {
        let request = TokenRequest {
            name: input.name,
            role: input.role,
            permissions: input.permissions.map(|list| list.into_iter().collect()),
            expires_in_days: input.expires_in_days,
        };
        let issued = context.services.tokens.create(context.caller, request).await?;
        Ok(issued.into())
    }
}

struct TokenList;

/// List the tokens of your tenant, newest first, without their secrets.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TokenListInput {
    /// Also those that were revoked or have expired.
    #[serde(default)]
    ended: bool,
    /// How many at most; 50 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<Cursor>,
}

/// A page of tokens.
#[derive(Serialize, JsonSchema)]
struct TokenPageView {
    /// The tokens.
    tokens: Vec<TokenView>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
    /// Whether this page was cut short to fit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl Output for TokenPageView {
    const LEVELS: &'static [LevelledField] = &[
        ("tokens.permissions", Level::Standard),
        ("tokens.created_at", Level::Standard),
        ("tokens.parent", Level::Full),
    ];

    fn item_count(&self) -> usize {
        self.tokens.len()
    }

    fn keep(&mut self, count: usize) {
        self.tokens.truncate(count);
        self.next_cursor = self.tokens.last().map(|token| Cursor::at(token.id));
        self.truncated = true;
    }
}

impl Operation for TokenList {
    const NAME: &'static str = "token_list";
    const TOOLSET: Toolset = Toolset::Admin;
    const EFFECT: Effect = Effect::Read;
    const ACCESS: Access = Access::Holds(Permission::AdminUsers);
    const ROUTE: Route = Route::get("/v1/tokens");
    type Input = TokenListInput;
    type Output = TokenPageView;

    async fn call(context: Context<'_>, input: TokenListInput) -> Result<TokenPageView> {
        let filter = TokenFilter { ended: input.ended };
        let page = PageRequest::new(input.limit, input.cursor);
        let tokens = context.services.tokens.list(context.caller, filter, page).await?;
        Ok(tokens.into())
    }
}

struct TokenRevoke;

/// End a token at once, and with it every token that was made with it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TokenRevokeInput {
    /// The token's id, for example `tok_01998a…`; `token_list` shows it.
    token: TokenId,
}

impl Output for TokenView {}

impl Operation for TokenRevoke {
    const NAME: &'static str = "token_revoke";
    const TOOLSET: Toolset = Toolset::Admin;
    const EFFECT: Effect = Effect::Destroy;
    const ACCESS: Access = Access::Holds(Permission::AdminUsers);
    const ROUTE: Route = Route::delete("/v1/tokens/{token}");
    type Input = TokenRevokeInput;
    type Output = TokenView;

    async fn call(context: Context<'_>, input: TokenRevokeInput) -> Result<TokenView> {
        let token = context
            .services
            .tokens
            .revoke(context.caller, input.token)
            .await?;
        Ok(token.into())
    }
}

/// A token, without its secret.
#[derive(Serialize, JsonSchema)]
struct TokenView {
    /// Its id.
    id: TokenId,
    /// What it is for.
    name: TokenName,
    /// The role whose toolsets it sees.
    role: RoleName,
    /// What it was granted; what it may do now is this and what its makers may do.
    permissions: Permissions,
    /// The token with which it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<TokenId>,
    /// When it was made.
    created_at: Timestamp,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<Timestamp>,
}

impl From<Token> for TokenView {
    fn from(token: Token) -> Self {
        Self {
            id: token.id,
            name: token.name,
            role: token.role,
            permissions: token.permissions,
            parent: token.parent,
            created_at: token.created_at,
            expires_at: token.expires_at,
            revoked_at: token.revoked_at,
            last_used_at: token.last_used_at,
        }
    }
}

impl From<IssuedToken> for IssuedTokenView {
    fn from(issued: IssuedToken) -> Self {
        Self {
            secret: issued.secret.expose().to_owned(),
            token: issued.token.into(),
            dropped_permissions: issued.dropped,
        }
    }
}

impl From<Page<Token>> for TokenPageView {
    fn from(page: Page<Token>) -> Self {
        let page = page.map(TokenView::from);
        Self {
            tokens: page.items,
            next_cursor: page.next,
            truncated: false,
        }
    }
}
