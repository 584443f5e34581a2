//! The `solar-render` command; all of it is in the library's `cli` module.

use std::process::ExitCode;

fn main() -> ExitCode {
    hide_memory();
    ExitCode::from(solar_render::cli::run(std::env::args_os()))
}

/// This process holds passwords and keys: it writes no core files, and no other process of the same user can read its
/// memory. If the system refuses that, the command still works.
fn hide_memory() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}
