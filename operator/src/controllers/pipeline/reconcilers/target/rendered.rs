//! The digest of the chart that a task's Job pushes, computed from the task's config: for Jobs that are deleted before
//! they have reported it.
//!
//! A config renders to the same chart here as in the Job, unless that runs another program or another version of the
//! renderer. Then no tag has this digest, and none is deleted because of it.

use std::path::Path;

use kube::Api;
use solar_render::package::Packer;
use solar_render::pipeline;
use solar_render::source::Source;
use tokio::task::spawn_blocking;

use crate::api::{Scope, Task};
use crate::controllers::rendertask::TaskView;
use crate::runtime::views::Object;
use crate::runtime::{Cx, Error};

/// The digest of a task's chart; `None`: the task is gone, or its config can't be rendered.
pub(super) async fn digest(cx: &Cx, task: &Object<TaskView>) -> Result<Option<String>, Error> {
    let api: Api<Task> = Api::namespaced_with(cx.client().clone(), task.namespace(), &Scope::Namespaced);
    let found = api.get_opt(&task.name().name).await;
    let found = found.map_err(Error::api("reading a RenderTask"))?;
    let Some(found) = found.filter(|found| found.metadata.uid.as_deref() == Some(task.uid())) else {
        return Ok(None);
    };
    let config = found.spec.config()?;
    // The operator has one thread for all it does.
    let rendered = spawn_blocking(move || of_config(&config)).await;
    Ok(rendered.ok().flatten())
}

fn of_config(config: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(config).into_owned();
    let mut packer = Packer::new(1);
    match pipeline::from_text(&Source::new("config.json", text), Path::new("."), &mut packer) {
        Ok(prepared) => Some(prepared.artifact.digest.to_string()),
        Err(problem) => {
            tracing::debug!(?problem, "the config of a dropped RenderTask can't be rendered");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_that_cannot_be_rendered_has_no_digest() {
        for config in ["{}", "{\"type\": \"bootstrap\"}", "[", "\u{fffd}"] {
            assert_eq!(of_config(config.as_bytes()), None, "{config}");
        }
    }
}
