//! Pages of MCP lists.

use rmcp::ErrorData;
use rmcp::model::PaginatedRequestParams;

/// How many items a page of a list has: enough that a client without paging sees all.
const PAGE_SIZE: usize = 200;

/// What stands before the place in a cursor, so that no other number passes for one.
const MARK: &str = "from-";

/// One page, and the cursor to the next.
pub(super) fn page<T>(
    items: impl Iterator<Item = T>,
    request: Option<&PaginatedRequestParams>,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let start = match request.and_then(|request| request.cursor.as_deref()) {
        None => 0,
        Some(cursor) => place(cursor)?,
    };
    let mut rest = items.skip(start);
    let page: Vec<T> = rest.by_ref().take(PAGE_SIZE).collect();
    let next = rest.next().map(|_| format!("{MARK}{}", start + PAGE_SIZE));
    Ok((page, next))
}

fn place(cursor: &str) -> Result<usize, ErrorData> {
    cursor
        .strip_prefix(MARK)
        .and_then(|place| place.parse().ok())
        .ok_or_else(|| {
            ErrorData::invalid_params(
                "the cursor is not one of ours: pass on `nextCursor` unchanged",
                None,
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(cursor: &str) -> PaginatedRequestParams {
        PaginatedRequestParams::default().with_cursor(Some(cursor.to_owned()))
    }

    #[test]
    fn pages_follow_one_another() {
        let (first, next) = page(0..450, None).unwrap();
        assert_eq!(first.len(), 200);
        let (second, next) = page(0..450, Some(&request(&next.unwrap()))).unwrap();
        assert_eq!(second.first(), Some(&200));
        let (third, next) = page(0..450, Some(&request(&next.unwrap()))).unwrap();
        assert_eq!((third.len(), next), (50, None));
        assert!(page(0..450, Some(&request("7"))).is_err());
    }
}
