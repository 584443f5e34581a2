//! Runs the renderer in Kubernetes Jobs and says truly what became of it.
//!
//! The library behind the `solar-operator` command.
