//! The flags about JSON Schemas of values.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueHint};

use crate::diag::{Class, Diagnostic, Result};
use crate::values::schema_documents::{NoSchemas, SchemaFolder, SchemaStore};

/// Where schemas are kept that others refer to.
#[derive(Args, Debug, Clone)]
pub(crate) struct SchemaFlags {
    /// Read the schemas that values.schema.json refers to by URL from this folder, which has a file HOST/PATH for each:
    /// nothing is fetched
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) schema_location: Option<PathBuf>,
    /// Fetch the schemas that values.schema.json refers to by URL, over https:// and without credentials, unless the
    /// folder has them; they are cached for a day
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) allow_remote_schemas: bool,
}

impl SchemaFlags {
    /// The flags as another command's words.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let dir = self.schema_location.as_ref();
        let mut words: Vec<OsString> =
            dir.map_or_else(Vec::new, |dir| vec!["--schema-location".into(), dir.into()]);
        if self.allow_remote_schemas {
            words.push("--allow-remote-schemas".into());
        }
        words
    }

    /// What is read without a network.
    pub(crate) fn store(&self) -> Result<Arc<dyn SchemaStore>> {
        match &self.schema_location {
            None => Ok(Arc::new(NoSchemas)),
            Some(dir) if dir.is_dir() => Ok(Arc::new(SchemaFolder(dir.clone()))),
            Some(dir) => {
                let message = format!("--schema-location: {} is not a folder", dir.display());
                Err(Diagnostic::error(Class::Usage, message).into())
            }
        }
    }
}
