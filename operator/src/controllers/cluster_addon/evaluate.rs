//! Templates of values and CEL expressions, which users write, in a child process.
//!
//! minijinja and CEL limit steps, but neither memory nor the depth of the stack: a template of forty lines doubles a text
//! until the memory is full. So they are evaluated by this program again, with limits that the kernel holds, without an
//! environment, and killed when they take too long. What fails there fails for one stack.

use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use cel::{Context, Program};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use solar_render::diag::Diagnostics;
use solar_render::source::Source;
use solar_render::yaml;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::Semaphore;

/// The command that evaluates, hidden in the help.
pub const COMMAND: &str = "evaluate";
/// How long a template or a set of expressions may take.
const TIME: Duration = Duration::from_secs(10);
/// The processor time of the child, in seconds.
const CPU_SECONDS: u64 = 10;
/// The address space of the child, in bytes: the stack of the template's thread, a GiB that is only reserved, and memory.
const ADDRESS_SPACE: u64 = (1 << 30) + (256 << 20);
/// How large a result may be, in bytes.
const MAX_RESULT: u64 = 2 << 20;
/// How large a question may be, in bytes.
const MAX_QUESTION: u64 = 64 << 20;
/// The stack that CEL gets: its parser recurses.
const CEL_STACK: usize = 256 << 20;

/// What is evaluated.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Question {
    /// A template of values.
    Template {
        /// For messages: the stack's name.
        stack: String,
        text: String,
        scope: Map<String, Value>,
    },
    /// CEL expressions, each with each of the scopes.
    Conditions {
        expressions: Vec<String>,
        scopes: Vec<Map<String, Value>>,
    },
}

/// The result.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// What the template printed.
    Text(String),
    /// All expressions are true in all scopes.
    True,
    /// The first that isn't: the index of its scope, and the expression.
    False { scope: usize, expression: String },
    /// It can't be evaluated.
    Refused(String),
}

impl Answer {
    /// Why a question has no answer.
    pub(super) fn refusal(self) -> String {
        match self {
            Self::Refused(message) => message,
            Self::Text(_) | Self::True | Self::False { .. } => {
                "internal error: an answer to another question".to_owned()
            }
        }
    }
}

/// Evaluates in child processes, a few at a time.
#[derive(Clone)]
pub(super) struct Evaluator {
    slots: Arc<Semaphore>,
}

impl Evaluator {
    /// One that runs this many children at a time.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(slots)),
        }
    }

    /// Evaluates; whatever fails is [`Answer::Refused`].
    pub(super) async fn ask(&self, question: &Question) -> Answer {
        let Ok(_slot) = self.slots.acquire().await else {
            return Answer::Refused("the operator is shutting down".to_owned());
        };
        match tokio::time::timeout(TIME, run(question)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(message)) => Answer::Refused(message),
            Err(_) => Answer::Refused(format!("it takes longer than {TIME:?}")),
        }
    }
}

async fn run(question: &Question) -> Result<Answer, String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("internal error: {what}: {error}");
    let text = serde_json::to_vec(question).map_err(|error| failed("the question", &error))?;
    // What this process runs, also when its file was replaced.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg(COMMAND)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let mut child = command
        .spawn()
        .map_err(|error| failed("starting a process", &error))?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("internal error: a process without pipes".to_owned());
    };
    let write = async {
        // It may end before it has read everything.
        let _ = input.write_all(&text).await;
        drop(input);
    };
    let mut result = Vec::new();
    let mut output = output.take(MAX_RESULT + 1);
    let (_, read) = tokio::join!(write, output.read_to_end(&mut result));
    read.map_err(|error| failed("reading a result", &error))?;
    if result.len() as u64 > MAX_RESULT {
        return Err(format!("the result is larger than {MAX_RESULT} bytes"));
    }
    let status = child.wait().await.map_err(|error| failed("waiting", &error))?;
    if !status.success() {
        return Err("it takes more memory, stack or processor time than it may".to_owned());
    }
    serde_json::from_slice(&result).map_err(|error| failed("a result", &error))
}

/// The child: reads a question from standard input, and writes the answer to standard output.
///
/// # Errors
/// An I/O error, or input that is not a question.
pub fn serve() -> std::io::Result<()> {
    limit()?;
    let mut text = Vec::new();
    std::io::stdin()
        .lock()
        .take(MAX_QUESTION)
        .read_to_end(&mut text)?;
    let question: Question = serde_json::from_slice(&text)?;
    let answer = serde_json::to_vec(&answer(question))?;
    std::io::stdout().lock().write_all(&answer)
}

fn limit() -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    for (resource, most) in [
        (Resource::As, ADDRESS_SPACE),
        (Resource::Cpu, CPU_SECONDS),
        (Resource::Core, 0),
    ] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit)?;
    }
    Ok(())
}

/// Evaluates in this process.
pub(super) fn answer(question: Question) -> Answer {
    match question {
        Question::Template { stack, text, scope } => template(&stack, &text, &scope),
        Question::Conditions { expressions, scopes } => {
            let evaluating = std::thread::Builder::new()
                .stack_size(CEL_STACK)
                .spawn(move || conditions(&expressions, &scopes));
            let answer = evaluating.ok().and_then(|thread| thread.join().ok());
            answer.unwrap_or_else(|| Answer::Refused("the expression can't be evaluated".to_owned()))
        }
    }
}

fn template(stack: &str, text: &str, scope: &Map<String, Value>) -> Answer {
    match template_text(stack, text, scope) {
        Ok(text) => Answer::Text(text),
        Err(problem) => Answer::Refused(problem.to_string()),
    }
}

fn template_text(stack: &str, text: &str, scope: &Map<String, Value>) -> Result<String, Diagnostics> {
    let json = Value::Object(scope.clone()).to_string();
    let source = Source::new("scope", json);
    let node = yaml::parse(
        &source,
        solar_render::diag::Class::Internal,
        &yaml::Limits::default(),
    )?;
    let scope = match node.into_value() {
        solar_render::value::Value::Map(map) => map,
        _ => solar_render::value::Map::default(),
    };
    solar_render::blueprint::render_in_scope((stack, "valuesTemplate"), text, scope, TIME)
}

fn conditions(expressions: &[String], scopes: &[Map<String, Value>]) -> Answer {
    for expression in expressions {
        let program = match Program::compile(expression) {
            Ok(program) => program,
            Err(error) => return Answer::Refused(format!("`{expression}`: {error}")),
        };
        for (number, scope) in scopes.iter().enumerate() {
            let mut context = Context::default();
            for (name, value) in scope {
                if let Err(error) = context.add_variable(name.as_str(), value.clone()) {
                    return Answer::Refused(format!("{name}: {error}"));
                }
            }
            match program.execute(&context) {
                Ok(cel::Value::Bool(true)) => {}
                // A field that is not there yet is no mistake: it is waited for.
                Ok(cel::Value::Bool(false)) | Err(cel::ExecutionError::NoSuchKey(_)) => {
                    return Answer::False {
                        scope: number,
                        expression: expression.clone(),
                    };
                }
                Ok(_) => return Answer::Refused(format!("`{expression}` is no boolean")),
                Err(error) => return Answer::Refused(format!("`{expression}`: {error}")),
            }
        }
    }
    Answer::True
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn scope(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("a map")
    }

    fn rendered(text: &str) -> Answer {
        answer(Question::Template {
            stack: "cni".to_owned(),
            text: text.to_owned(),
            scope: scope(json!({
                "cluster": {"metadata": {"name": "edge"}, "spec": {"clusterNetwork": {"pods": {"cidrBlocks": ["10.1.0.0/16"]}}}},
                "kubernetesVersion": "v1.33.2", "infraCluster": null,
            })),
        })
    }

    #[test]
    fn a_template_sees_the_cluster_and_passes_helms_braces() {
        let text = "name: << cluster.metadata.name >>\ncidr: << cluster.spec.clusterNetwork.pods.cidrBlocks[0] >>\nhelm: \"{{ .Values.x }}\"\n<% if kubernetesVersion[:5] == 'v1.33' %>new: true\n<% endif %>";
        let found = match rendered(text) {
            Answer::Text(text) => text,
            other => panic!("{other:?}"),
        };
        assert!(
            found.contains("name: edge") && found.contains("cidr: 10.1.0.0/16"),
            "{found}"
        );
        assert!(
            found.contains("{{ .Values.x }}") && found.contains("new: true"),
            "{found}"
        );
    }

    /// A template that fails must not end as an empty text; it says where.
    #[test]
    fn what_is_undefined_is_an_error_with_its_line() {
        let table = [
            (
                "a: 1\nb: << cluster.spec.missing >>",
                "cni/valuesTemplate.jinja:2",
            ),
            ("a: << nobody >>", "`nobody` is not defined"),
            ("a: << infraCluster.spec >>", ":1"),
            ("<% include '/etc/passwd' %>", "template"),
            ("a: << env >>", "`env` is not defined"),
            (
                "<% for a in range(100000) %><% for b in range(100000) %>x<% endfor %><% endfor %>",
                "valuesTemplate",
            ),
        ];
        for (text, expected) in table {
            match rendered(text) {
                Answer::Refused(message) => assert!(message.contains(expected), "{text}: {message}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    fn asked(expression: &str, object: Value) -> Answer {
        answer(Question::Conditions {
            expressions: vec![expression.to_owned()],
            scopes: vec![scope(json!({"object": object}))],
        })
    }

    #[test]
    fn conditions_are_true_false_or_refused() {
        let ready = json!({"status": {"readyReplicas": 2}, "spec": {"replicas": 2}});
        let all = "object.status.readyReplicas == object.spec.replicas";
        assert_eq!(asked(all, ready.clone()), Answer::True);
        let no = |expression: &str| Answer::False {
            scope: 0,
            expression: expression.to_owned(),
        };
        let waiting = json!({"status": {"readyReplicas": 1}, "spec": {"replicas": 2}});
        assert_eq!(asked(all, waiting), no(all));
        // There is no status yet.
        assert_eq!(asked(all, json!({"spec": {"replicas": 2}})), no(all));
        let listed = "object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')";
        let object = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        assert_eq!(asked(listed, object), Answer::True);
        for wrong in ["object.status.", "1 + 1", "nobody == 1", &"(".repeat(1000)] {
            let found = asked(wrong, ready.clone());
            assert!(matches!(found, Answer::Refused(_)), "{wrong}: {found:?}");
        }
    }
}
