//! Watching: where it begins and ends, and what it must not miss.
