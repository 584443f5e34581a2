//! The controllers: a folder for each, and what each one does in its module's documentation.

pub mod pipeline;
pub mod rendertask;
