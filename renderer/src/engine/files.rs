//! `.Files`: the files of a chart other than its templates.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::glob::Glob;
use crate::chart::body::Body;
use crate::template::{FuncError, Kind, Map, Method, Object, Str, Type, Val};
use crate::yaml;

/// Files by path. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Files(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    bodies: BTreeMap<Arc<str>, Body>,
    /// The lines of the last requested file: loops request the same file repeatedly.
    lines: RefCell<Option<(String, Val)>>,
}

const fn method(name: &'static str, params: &'static [Type]) -> Method {
    Method {
        name,
        params,
        variadic: false,
    }
}

const PATH: &[Type] = &[Type::String];
const METHODS: &[Method] = &[
    method("Get", PATH),
    method("GetBytes", PATH),
    method("Glob", PATH),
    method("Lines", PATH),
    method("AsConfig", &[]),
    method("AsSecrets", &[]),
];

impl Files {
    /// Creates it from paths and contents.
    pub(super) fn new(files: impl IntoIterator<Item = (Arc<str>, Body)>) -> Self {
        Self(Rc::new(Inner {
            bodies: files.into_iter().collect(),
            lines: RefCell::default(),
        }))
    }

    fn bytes(&self, path: &str) -> &[u8] {
        self.0.bodies.get(path).map_or(&[], Body::bytes)
    }

    fn glob(&self, pattern: &str) -> Self {
        let glob = Glob::parse(pattern).unwrap_or_else(Glob::all);
        let found = self.0.bodies.iter().filter(|(path, _)| glob.matches(path));
        Self::new(found.map(|(path, body)| (Arc::clone(path), body.clone())))
    }

    /// A YAML map by file name; of two files with the same name in different folders Go's choice is random, here it is
    /// the last path.
    fn flattened(&self, content: fn(&[u8]) -> Str) -> String {
        let entries = self.0.bodies.iter().map(|(path, body)| {
            let name = path.rsplit('/').next().unwrap_or(path);
            (Arc::from(name), Val::Str(content(body.bytes())))
        });
        let map: Map = entries.collect::<Vec<(Arc<str>, Val)>>().into_iter().collect();
        let text = Val::Map(map)
            .to_data()
            .map_or(String::new(), |data| yaml::write(&data));
        text.strip_suffix('\n').map_or(text.clone(), str::to_owned)
    }

    fn lines(&self, path: &str) -> Val {
        let bytes = self.bytes(path);
        if bytes.is_empty() {
            return Val::strings(Vec::<Str>::new());
        }
        if let Some((known, lines)) = &*self.0.lines.borrow()
            && known == path
        {
            return lines.clone();
        }
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let lines = match std::str::from_utf8(bytes) {
            Ok(text) => Val::strings(text.split('\n')),
            Err(_) => Val::strings(bytes.split(|byte| *byte == b'\n').map(Str::copy_of)),
        };
        *self.0.lines.borrow_mut() = Some((path.to_owned(), lines.clone()));
        lines
    }
}

impl Object for Files {
    fn type_name(&self) -> &'static str {
        "engine.files"
    }

    fn kind(&self) -> Kind {
        Kind::Map
    }

    fn field(&self, name: &str) -> Option<Val> {
        // For a missing name Go returns the zero value of bytes, which prints as a list.
        Some(Val::Bytes(self.bytes(name).into()))
    }

    fn fields(&self) -> Vec<(String, Val)> {
        self.0
            .bodies
            .iter()
            .map(|(path, body)| (path.to_string(), Val::Bytes(body.bytes().into())))
            .collect()
    }

    fn count(&self) -> usize {
        self.0.bodies.len()
    }

    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn call(&self, name: &str, args: &[Val]) -> Result<Val, FuncError> {
        let path = match args.first() {
            Some(Val::Str(path)) => path.to_text().into_owned(),
            _ => String::new(),
        };
        Ok(match name {
            "Get" => Val::Str(Str::copy_of(self.bytes(&path))),
            "GetBytes" => Val::Bytes(self.bytes(&path).into()),
            "Glob" => Val::Object(Rc::new(self.glob(&path))),
            "Lines" => self.lines(&path),
            "AsConfig" => Val::from(self.flattened(Str::copy_of)),
            "AsSecrets" => Val::from(self.flattened(|bytes| {
                let encoded = Val::Bytes(bytes.into()).to_data();
                Str::from(
                    encoded
                        .ok()
                        .and_then(|data| data.as_str().map(str::to_owned))
                        .unwrap_or_default(),
                )
            })),
            other => return Err(FuncError::new(format!("no method {other}"))),
        })
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
