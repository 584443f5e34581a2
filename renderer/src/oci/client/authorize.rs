//! Answers a registry's challenge: looks up credentials, requests a token, and keeps the header for the next requests.

use bytes::Bytes;
use http::Method;
use url::Url;

use crate::oci::auth::challenge::{self, Challenge, Held, TokenAnswer};
use crate::oci::auth::credentials::{self, CredentialLookup, Credentials, Secret};
use crate::oci::client::Client;
use crate::oci::client::exchange::{Call, Payload, Reply, RequestFailure, origin};
use crate::oci::error::ClientError;

/// The maximum size of a token server's response, in bytes.
const MAX_TOKEN: usize = 1 << 20;

impl Client<'_> {
    /// If the registry has challenged another client of the same connections, answers that challenge in advance, which
    /// saves a request.
    pub(in crate::oci) async fn foresee(&self) -> Result<(), RequestFailure> {
        let Some(challenge) = self.transport.foreseen(&self.base) else {
            return Ok(());
        };
        let _turn = self.asking.lock().await;
        if self.session.borrow().held.is_some() {
            return Ok(());
        }
        let action = format!("GET {}", self.base);
        let held = self.respond(&challenge, &self.credentials()?, &action).await?;
        self.session.borrow_mut().held = held;
        Ok(())
    }

    async fn respond(
        &self,
        challenge: &Challenge,
        found: &CredentialLookup,
        action: &str,
    ) -> Result<Option<Held>, RequestFailure> {
        Ok(match (challenge.scheme.as_str(), &found.credentials) {
            ("bearer", Some(Credentials::RegistryToken(token))) => Held::bearer(token, true, None),
            ("bearer", credentials) => Some(self.fetch_token(action, challenge, credentials.as_ref()).await?),
            (_, Some(Credentials::Basic { username, password })) => Held::basic(username, password),
            _ => None,
        })
    }

    /// The header that answers a 401, or `None` if there is none.
    pub(in crate::oci) async fn answer(
        &self,
        reply: &Reply,
        used: Option<Held>,
    ) -> Result<Option<Held>, RequestFailure> {
        let _turn = self.asking.lock().await;
        let now = self.session.borrow().current();
        if let Some(held) = now
            && used.as_ref().is_none_or(|used| used.header != held.header)
        {
            // Another request has obtained one meanwhile.
            return Ok(Some(held));
        }
        let found = self.credentials()?;
        let headers = reply.headers.get_all("www-authenticate");
        let challenges = challenge::parse_challenges(headers.iter().filter_map(|value| value.to_str().ok()));
        let Some(challenge) = challenge::choose(challenges, found.credentials.as_ref()) else {
            return Ok(None);
        };
        let held = self.respond(&challenge, &found, &reply.action()).await?;
        self.transport.note(&self.base, &challenge);
        if held
            .as_ref()
            .is_some_and(|held| used.is_some_and(|used| used.header == held.header))
        {
            // This is the header that was refused.
            return Ok(None);
        }
        self.session.borrow_mut().held.clone_from(&held);
        Ok(held)
    }

    /// The user's credentials, looked up once and only after a challenge.
    fn credentials(&self) -> Result<CredentialLookup, ClientError> {
        if let Some(found) = &self.session.borrow().found {
            return Ok(found.clone());
        }
        let found = credentials::find(
            self.subject.host(),
            self.subject.path(),
            credentials::Sources {
                explicit: self.options.credentials.as_ref(),
                ambient_host: &self.options.ambient_host,
                registry_config: self.options.registry_config.as_deref(),
                limit: self.options.timeout,
            },
            self.world,
        )?;
        match (&found.credentials, found.searched.first()) {
            (Some(_), Some(place)) => self.progress.trace(&format!("credentials: from {place}")),
            _ => self.progress.trace("credentials: none found"),
        }
        self.session.borrow_mut().found = Some(found.clone());
        Ok(found)
    }

    async fn fetch_token(
        &self,
        action: &str,
        challenge: &Challenge,
        credentials: Option<&Credentials>,
    ) -> Result<Held, RequestFailure> {
        let realm = challenge.get("realm").and_then(|realm| Url::parse(realm).ok());
        let Some(mut realm) = realm.filter(|url| matches!(url.scheme(), "http" | "https")) else {
            let message = "the challenge names no token server (realm)".to_owned();
            let action = action.to_owned();
            return Err(ClientError::Protocol { action, message }.into());
        };
        if credentials.is_some() && self.base.scheme() == "https" && realm.scheme() == "http" {
            let message = format!(
                "credentials are not sent to the token server {}: it is plain HTTP, the registry is not",
                origin(&realm)
            );
            let action = action.to_owned();
            return Err(ClientError::Protocol { action, message }.into());
        }
        let scopes = self.subject.scopes();
        let service = challenge.get("service").unwrap_or_default();
        let header;
        let call = if let Some(Credentials::IdentityToken(token)) = credentials {
            header = None;
            self.transport.sent().note(token.expose());
            refresh_call(realm, service, &scopes.join(" "), token)
        } else {
            header = match credentials {
                Some(Credentials::Basic { username, password }) => challenge::basic(username, password),
                _ => None,
            };
            if !service.is_empty() {
                realm.query_pairs_mut().append_pair("service", service);
            }
            for scope in &scopes {
                realm.query_pairs_mut().append_pair("scope", scope);
            }
            Call::new(Method::GET, realm)
        };
        let reply = self.transport.send(&call, header.as_ref()).await?;
        if reply.status != 200 {
            let searched = self.searched();
            return Err(self
                .transport
                .refuse(reply, searched, credentials.is_some())
                .await);
        }
        let action = reply.action();
        let body = self.transport.body(reply, MAX_TOKEN).await?;
        // serde's message could quote the token.
        serde_json::from_slice::<TokenAnswer>(&body)
            .ok()
            .and_then(TokenAnswer::into_token)
            .and_then(|(token, life)| Held::bearer(&token, credentials.is_some(), Some(life)))
            .ok_or_else(|| {
                let message = "the token server's response has no token".to_owned();
                ClientError::Protocol { action, message }.into()
            })
    }
}

/// A token for an identity token (OAuth 2, `refresh_token`).
fn refresh_call(realm: Url, service: &str, scope: &str, token: &Secret) -> Call<'static> {
    // A URL's query is form-encoded.
    let mut form = realm.clone();
    form.query_pairs_mut()
        .clear()
        .append_pair("grant_type", "refresh_token")
        .append_pair("service", service)
        .append_pair("client_id", "solar-render")
        .append_pair("scope", scope)
        .append_pair("refresh_token", token.expose());
    let mut call = Call::new(Method::POST, realm);
    call.content_type = Some("application/x-www-form-urlencoded");
    call.payload = Payload::Bytes(Bytes::from(form.query().unwrap_or_default().to_owned()));
    call
}
