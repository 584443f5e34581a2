//! Conversion of data to text and back: YAML, JSON and TOML, as in Helm 4.3.1 and sprig 3.3.
//!
//! The output equals that of Helm's libraries: sigs.k8s.io/yaml (go-yaml v2),
//! go-yaml v3 for `toYamlPretty`, `encoding/json`, BurntSushi's toml. Helm's readers swallow errors: the message is
//! returned as the key `Error`, or as a list's only item.
//!
//! Differences from Helm:
//! - values nested more than 1,000 deep count as cyclic;
//! - for invalid YAML or TOML, common mistakes have Go's messages, others have our own.

mod json_read;
mod json_write;
mod read;
mod toml_read;
mod toml_write;
mod yaml_read;
mod yaml_write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use self::json_write::{COMPACT, JsonStyle};
use super::Context;
use crate::template::{Call, Func, FuncError, Str, Type, Val};

const PRETTY: JsonStyle = JsonStyle {
    html: true,
    pretty: true,
};

const RAW: JsonStyle = JsonStyle {
    html: false,
    pretty: false,
};

/// Standard base64, as `encoding/json` writes bytes.
fn encoded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

const fn writer(
    name: &'static str,
    doc: &'static str,
    call: fn(&mut Call<'_, Context>) -> Result<Val, FuncError>,
) -> Func<Context> {
    Func {
        name,
        params: &[Type::Any],
        variadic: false,
        doc,
        call,
    }
}

const fn reader(
    name: &'static str,
    doc: &'static str,
    call: fn(&mut Call<'_, Context>) -> Result<Val, FuncError>,
) -> Func<Context> {
    Func {
        name,
        params: &[Type::String],
        variadic: false,
        doc,
        call,
    }
}

/// An error becomes the empty string.
fn swallow(text: Result<String, FuncError>) -> Result<Val, FuncError> {
    Ok(Val::str(text.unwrap_or_default()))
}

fn argument<'a>(call: &'a Call<'_, Context>) -> &'a Val {
    call.args.first().unwrap_or(&Val::Nil)
}

fn must(text: Result<String, FuncError>) -> Result<Val, FuncError> {
    text.map(Val::str)
}

fn text(call: &Call<'_, Context>) -> Str {
    call.str(0)
}

fn sprig_json(call: &Call<'_, Context>) -> Result<Val, FuncError> {
    let read = json_read::read(&text(call))?;
    read.fault.map_or(Ok(read.value), Err)
}

/// The exported fields of a Go struct: those with a capital. Maps keep all keys.
fn exported(fields: Vec<(String, Val)>) -> Vec<(String, Val)> {
    let is_struct = fields
        .iter()
        .any(|(name, _)| name.starts_with(|first: char| first.is_ascii_uppercase()));
    let seen = |name: &str| !is_struct || name.starts_with(|first: char| first.is_ascii_uppercase());
    fields.into_iter().filter(|(name, _)| seen(name)).collect()
}

/// What sprig does where Helm has a function of its own with the same name.
#[cfg(feature = "pipeline")]
pub(crate) const SPRIG: &[Func<Context>] = &[reader(
    "fromJson",
    "What a JSON text holds, or nothing.",
    |call| Ok(sprig_json(call).unwrap_or_default()),
)];

pub(super) const TABLE: &[Func<Context>] = &[
    writer("toYaml", "A value as YAML; empty when it has none.", |call| {
        swallow(yaml_write::plain(argument(call)))
    }),
    writer("mustToYaml", "A value as YAML, or a failure.", |call| {
        must(yaml_write::plain(argument(call)))
    }),
    writer(
        "toYamlPretty",
        "A value as YAML, lists indented and nothing folded.",
        |call| must(yaml_write::pretty(argument(call))),
    ),
    reader(
        "fromYaml",
        "The map that a YAML text holds; an error is its key Error.",
        |call| Ok(read::map(yaml_read::read(&text(call)))),
    ),
    reader(
        "fromYamlArray",
        "The list that a YAML text holds; an error is its item.",
        |call| Ok(read::list(yaml_read::read(&text(call)))),
    ),
    writer(
        "toJson",
        "A value as one line of JSON; empty when it has none.",
        |call| swallow(json_write::write(argument(call), COMPACT)),
    ),
    writer(
        "mustToJson",
        "A value as one line of JSON, or a failure.",
        |call| must(json_write::write(argument(call), COMPACT)),
    ),
    writer(
        "toPrettyJson",
        "A value as indented JSON; empty when it has none.",
        |call| swallow(json_write::write(argument(call), PRETTY)),
    ),
    writer(
        "mustToPrettyJson",
        "A value as indented JSON, or a failure.",
        |call| must(json_write::write(argument(call), PRETTY)),
    ),
    writer(
        "toRawJson",
        "A value as JSON without HTML escapes, or a failure.",
        |call| must(json_write::write(argument(call), RAW)),
    ),
    writer(
        "mustToRawJson",
        "A value as JSON without HTML escapes, or a failure.",
        |call| must(json_write::write(argument(call), RAW)),
    ),
    reader(
        "fromJson",
        "The map that a JSON text holds; an error is its key Error.",
        |call| Ok(read::map(read::json(&text(call)))),
    ),
    reader(
        "fromJsonArray",
        "The list that a JSON text holds; an error is its item.",
        |call| Ok(read::list(read::json(&text(call)))),
    ),
    reader("mustFromJson", "What a JSON text holds, or a failure.", |call| {
        sprig_json(call)
    }),
    writer("toToml", "A value as TOML, or the words of the error.", |call| {
        Ok(Val::str(match toml_write::write(argument(call)) {
            Ok(text) => Str::from_bytes(text),
            Err(toml_write::TomlFailure::Error(message)) => Str::from(message),
            Err(toml_write::TomlFailure::Panic(fault)) => return Err(fault),
        }))
    }),
    writer(
        "mustToToml",
        "A value as TOML, or a failure.",
        |call| match toml_write::write(argument(call)) {
            Ok(text) => Ok(Val::str(Str::from_bytes(text))),
            Err(toml_write::TomlFailure::Error(message)) => Err(message.into()),
            Err(toml_write::TomlFailure::Panic(fault)) => Err(fault),
        },
    ),
    reader(
        "fromToml",
        "The map that a TOML text holds; an error is its key Error.",
        |call| {
            Ok(match toml_read::read(&text(call)) {
                Ok(map) => map,
                Err(message) => Val::from_entries([("Error", Val::str(message))]),
            })
        },
    ),
];
