//! What can be wrong with a token, in words that a client may read: nothing of the token
//! itself stands in them.

/// Why a token was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// Longer than any token that we accept.
    #[error("the token is longer than 8 KiB; ask the issuer for one with fewer claims")]
    TooLong,
    /// Not three parts, not base64, not JSON, or of an algorithm that nobody uses.
    #[error("the token is not a signed JWT that can be read; get a new one")]
    Malformed,
    /// The header asks to take the key from somewhere, or to understand what we do not.
    #[error("the token's header carries `{0}`, which is not accepted; keys come from the configuration only")]
    Header(&'static str),
    /// The token is made for another purpose.
    #[error("the token's type is not that of an access token")]
    Type,
    /// The token names another algorithm than its key has.
    #[error("the token is signed with another algorithm than its key is for")]
    Algorithm,
    /// No key of that name.
    #[error("the token is signed with a key that its issuer does not publish; get a new one")]
    UnknownKey,
    /// The signature is not of that key.
    #[error("the token's signature does not verify; get a new one")]
    Signature,
    /// A claim that every token must have is not there.
    #[error("the token has no `{0}` claim, which is required")]
    Missing(&'static str),
    /// A claim cannot be used.
    #[error("the token's `{0}` claim is empty, too long, or not readable text")]
    Claim(&'static str),
    /// Too late.
    #[error("the token has expired; get a new one")]
    Expired,
    /// Too early.
    #[error("the token is not valid yet; compare this machine's clock with the issuer's")]
    NotYetValid,
    /// From somebody else.
    #[error("the token is from another issuer than this server trusts")]
    Issuer,
    /// For somebody else.
    #[error("the token is for another audience; ask the issuer for one for this server")]
    Audience,
    /// The keys have not been fetched yet, or are too old.
    #[error("the issuer's keys cannot be fetched at the moment; try again shortly")]
    KeysUnavailable,
}
