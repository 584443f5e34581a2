//! The `solar-render` command; its command line comes later.

fn main() {}
