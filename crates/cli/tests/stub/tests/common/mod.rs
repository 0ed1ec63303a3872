//! A file that is no target of its own.
