//! The command line as data: the source of parsing, help, completions and man pages.
//!
//! A file for each command, and one for each group of flags that several share. No I/O here.

pub(super) mod artifact;
pub(super) mod cache;
pub(super) mod cli;
pub(super) mod compare;
pub(super) mod completion;
pub(super) mod copy;
pub(super) mod create;
pub(super) mod definition;
pub(super) mod delete;
pub(super) mod dependency;
pub(super) mod digest;
pub(super) mod env;
pub(super) mod fetch;
pub(super) mod global;
pub(super) mod helm;
pub(super) mod images;
pub(super) mod limits;
pub(super) mod lint;
pub(super) mod login;
pub(super) mod namespace;
pub(super) mod package;
pub(super) mod plugin;
pub(super) mod policy;
pub(super) mod provenance;
pub(super) mod publish;
pub(super) mod pull;
pub(super) mod push;
pub(super) mod registry;
pub(super) mod render;
pub(super) mod rendering;
pub(super) mod repo;
pub(super) mod repositories;
pub(super) mod schemas;
pub(super) mod search;
pub(super) mod show;
pub(super) mod sign;
pub(super) mod tags;
pub(super) mod template;
pub(super) mod test;
pub(super) mod unsupported_commands;
pub(super) mod validate;
pub(super) mod verify;
pub(super) mod version;
pub(super) mod versions;
