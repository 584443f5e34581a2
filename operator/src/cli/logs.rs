//! Logs: text for people or JSON for machines, on standard error.

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::args::{LogFormat, LogLevel};

/// Starts logging. Libraries only log warnings: their debug lines hold whole requests.
pub(super) fn start(format: LogFormat, level: LogLevel) {
    let level = match level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
        LogLevel::Trace => Level::TRACE,
    };
    let filter = Targets::new()
        .with_default(LevelFilter::WARN)
        // They print whole responses, and errors that are returned and logged here.
        .with_target("kube_client", LevelFilter::OFF)
        .with_target("kube_runtime", LevelFilter::OFF)
        .with_target(env!("CARGO_CRATE_NAME"), level);
    let registry = tracing_subscriber::registry().with(filter);
    let started = match format {
        LogFormat::Text => registry
            .with(
                tracing_subscriber::fmt::layer()
                    .with_ansi(false)
                    .with_target(false)
                    .with_writer(std::io::stderr),
            )
            .try_init(),
        LogFormat::Json => registry
            .with(
                tracing_subscriber::fmt::layer()
                    .json()
                    .flatten_event(true)
                    .with_span_list(false)
                    .with_target(false)
                    .with_writer(std::io::stderr),
            )
            .try_init(),
    };
    if started.is_err() {
        tracing::debug!("logging was started already");
    }
}
