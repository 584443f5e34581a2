//! What templates look up in a cluster.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::client::Session;
use crate::diag::Class;
use crate::funcs::ObjectLookup;
use crate::source::Source;
use crate::value::{Map, Value};
use crate::yaml;

/// API version, kind, namespace and name.
type Question = [String; 4];

/// Looks objects up in a cluster, each once: a template that runs again finds the same.
pub(crate) struct ClusterLookup {
    session: Arc<Session>,
    found: Mutex<BTreeMap<Question, Result<Map, String>>>,
}

impl ClusterLookup {
    /// In this cluster.
    pub(crate) fn new(session: &Arc<Session>) -> Self {
        Self {
            session: Arc::clone(session),
            found: Mutex::default(),
        }
    }

    fn ask(&self, [api_version, kind, namespace, name]: &Question) -> Result<Map, String> {
        let Session { runtime, cluster } = &*self.session;
        let found = runtime.block_on(cluster.find((api_version, kind), namespace, name));
        let Some(object) = found.map_err(|error| error.to_string())? else {
            return Ok(Map::default());
        };
        let source = Source::new("the cluster's object", object.to_string());
        let node = yaml::parse(&source, Class::Protocol, &yaml::Limits::default());
        match node.map_err(|problem| problem.to_string())?.into_value() {
            Value::Map(map) => Ok(map),
            _ => Err("the API server's response is no object".to_owned()),
        }
    }
}

impl ObjectLookup for ClusterLookup {
    fn find(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Map, String> {
        let question = [api_version, kind, namespace, name].map(str::to_owned);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = found.get(&question) {
            return known.clone();
        }
        let answer = self.ask(&question);
        found.insert(question, answer.clone());
        answer
    }
}
