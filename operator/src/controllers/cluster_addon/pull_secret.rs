//! The credentials of a Secret of type kubernetes.io/dockerconfigjson for one repository. Pure.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use solar_render::oci::{Credentials, Secret};

#[derive(Deserialize)]
struct DockerConfig {
    #[serde(default)]
    auths: BTreeMap<String, DockerAuth>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DockerAuth {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

/// The credentials of the entry whose key is the longest one that `repository` (`host/path`) begins with; `None`: there is
/// no such entry.
///
/// # Errors
/// The text is no such document; the error has nothing of it.
pub(super) fn credentials(text: &[u8], repository: &str) -> Result<Option<Credentials>, &'static str> {
    let config: DockerConfig =
        serde_json::from_slice(text).map_err(|_| "its .dockerconfigjson is not of the expected form")?;
    let matching = config.auths.into_iter().filter_map(|(key, auth)| {
        let key = normal(&key);
        let rest = repository.strip_prefix(key.as_str())?;
        (rest.is_empty() || rest.starts_with('/')).then_some((key.len(), auth))
    });
    match matching.max_by_key(|(length, _)| *length) {
        Some((_, auth)) => auth.into_credentials().map(Some),
        None => Ok(None),
    }
}

/// `host/path` of a key, as Docker's older ones are URLs.
fn normal(key: &str) -> String {
    let key = key.split_once("://").map_or(key, |(_, rest)| rest);
    let key = key.trim_end_matches('/');
    let key = key
        .strip_suffix("/v1")
        .or_else(|| key.strip_suffix("/v2"))
        .unwrap_or(key);
    key.to_owned()
}

impl DockerAuth {
    fn into_credentials(self) -> Result<Credentials, &'static str> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(token) = given(self.identitytoken) {
            return Ok(Credentials::IdentityToken(Secret::new(token)));
        }
        if let Some(token) = given(self.registrytoken) {
            return Ok(Credentials::RegistryToken(Secret::new(token)));
        }
        if let (Some(username), Some(password)) = (given(self.username), given(self.password)) {
            return Ok(Credentials::Basic {
                username,
                password: Secret::new(password),
            });
        }
        let wrong = "an entry of its .dockerconfigjson has no credentials";
        let pair = given(self.auth).ok_or(wrong)?;
        let pair = STANDARD.decode(pair.trim()).map_err(|_| wrong)?;
        let pair = String::from_utf8(pair).map_err(|_| wrong)?;
        let (username, password) = pair.split_once(':').ok_or(wrong)?;
        Ok(Credentials::Basic {
            username: username.to_owned(),
            password: Secret::new(password),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_longest_matching_entry_has_the_credentials() {
        let pair = |text: &str| json!({"auth": STANDARD.encode(text)});
        let text = json!({"auths": {
            "h.example": pair("host:1"), "h.example/team": pair("team:2:3"), "https://old.example/v1/": pair("old:4"),
            "t.example": {"identitytoken": "5"}, "h.example/broken": {"auth": "%"},
        }})
        .to_string();
        let user = |repository: &str| match credentials(text.as_bytes(), repository) {
            Ok(Some(Credentials::Basic { username, password })) => {
                Some(format!("{username}:{}", password.expose()))
            }
            Ok(Some(_)) => Some("token".to_owned()),
            Ok(None) => None,
            Err(message) => Some(message.to_owned()),
        };
        let table = [
            ("h.example/shop", Some("host:1")),
            ("h.example/team/shop", Some("team:2:3")),
            ("h.example/teamwork/shop", Some("host:1")),
            ("h.example:5000/shop", None),
            ("old.example/shop", Some("old:4")),
            ("t.example/shop", Some("token")),
            ("h.example.evil/shop", None),
            (
                "h.example/broken/shop",
                Some("an entry of its .dockerconfigjson has no credentials"),
            ),
        ];
        for (repository, expected) in table {
            assert_eq!(user(repository).as_deref(), expected, "{repository}");
        }
        assert!(credentials(b"secret", "h.example/shop").is_err());
    }
}
