//! The `solar-operator` command; all of it is in the library.

fn main() {}
