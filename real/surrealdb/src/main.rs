//! SurrealDB as its own program starts it, without what its tests do not need: storage in memory, HTTP, and no more.

fn main() -> std::process::ExitCode {
    surrealdb_server::init(surrealdb_server::core::CommunityComposer())
}
