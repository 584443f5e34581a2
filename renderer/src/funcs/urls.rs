//! URLs and network.

use super::Context;
use super::args::{NIL_POINTER, func};
use super::go_url::{Url, UserInfo};
use crate::template::{Call, Func, FuncError, Map, Type, Val};

fn url_parse(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let text = call.str(0);
    let url = Url::parse(text.as_bytes()).map_err(|error| format!("unable to parse url: {error}"))?;
    let user = url.user.as_ref().map(UserInfo::to_bytes).unwrap_or_default();
    let text = |bytes: &[u8]| Val::Str(crate::template::Str::from_bytes(bytes));
    Ok(Val::from_entries([
        ("scheme", text(&url.scheme)),
        ("host", text(&url.host)),
        ("hostname", text(url.hostname())),
        ("path", text(&url.path)),
        ("query", text(&url.query)),
        ("opaque", text(&url.opaque)),
        ("fragment", text(&url.fragment)),
        ("userinfo", text(&user)),
    ]))
}

fn url_join(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let map = call.map(0).unwrap_or_default();
    let mut url = Url {
        scheme: entry(&map, "scheme")?,
        host: entry(&map, "host")?,
        path: entry(&map, "path")?,
        query: entry(&map, "query")?,
        opaque: entry(&map, "opaque")?,
        fragment: entry(&map, "fragment")?,
        ..Url::default()
    };
    let user = entry(&map, "userinfo")?;
    if !user.is_empty() {
        let whole = [b"proto://", user.as_slice(), b"@host"].concat();
        let parsed =
            Url::parse(&whole).map_err(|error| format!("unable to parse userinfo in dict: {error}"))?;
        url.user = parsed.user;
    }
    Ok(Val::Str(crate::template::Str::from_bytes(url.to_bytes())))
}

/// A key's string; empty if it is missing.
fn entry(map: &Map, key: &str) -> Result<Vec<u8>, FuncError> {
    match map.get(key) {
        None => Ok(Vec::new()),
        Some(Val::Str(text)) => Ok(text.as_bytes().to_vec()),
        Some(Val::Nil | Val::Null) => Err(NIL_POINTER.into()),
        Some(other) => {
            let kind = other.kind().name();
            Err(format!("unable to parse {key} key, must be of type string, but {kind} found").into())
        }
    }
}

/// Helm resolves names only with `--enable-dns`.
fn get_host_by_name(_: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    Ok(Val::str(""))
}

use Type::{Dict, String as Text};

pub(super) const TABLE: &[Func<Context>] = &[
    func(
        "getHostByName",
        &[Text],
        "An empty text: no name is resolved",
        get_host_by_name,
    ),
    func(
        "urlJoin",
        &[Dict],
        "The URL of a map as urlParse makes it",
        url_join,
    ),
    func(
        "urlParse",
        &[Text],
        "The URL's scheme, host, path, query, …",
        url_parse,
    ),
];
