//! Versions.

use std::rc::Rc;

use super::Context;
use super::args::func;
use crate::semver::{Constraint, SemverError, Version};
use crate::template::{Call, Func, FuncError, Kind, Method, Object, Str, Type, UintType, Val};

impl From<SemverError> for FuncError {
    fn from(error: SemverError) -> Self {
        Self::new(error.to_string())
    }
}

/// Go's `*semver.Version`, or `semver.Version` if a method returned it.
#[derive(Debug)]
struct VersionObject {
    version: Version,
    pointer: bool,
}

impl VersionObject {
    fn val(version: Version, pointer: bool) -> Val {
        Val::Object(Rc::new(Self { version, pointer }))
    }
}

/// sprig's copy of a version: its fields are private to Go, so they are not copied.
pub(super) fn copied(object: &dyn Object) -> Option<Val> {
    let version = object.as_any().downcast_ref::<VersionObject>()?;
    Some(VersionObject::val(Version::default(), version.pointer))
}

const fn method(name: &'static str, params: &'static [Type]) -> Method {
    Method {
        name,
        params,
        variadic: false,
    }
}

const POINTER: &[Type] = &[Type::Named("*semver.Version")];

/// The methods of the value first, then those that only the pointer has.
const METHODS: &[Method] = &[
    method("IncMajor", &[]),
    method("IncMinor", &[]),
    method("IncPatch", &[]),
    method("Major", &[]),
    method("MarshalJSON", &[]),
    method("MarshalText", &[]),
    method("Metadata", &[]),
    method("Minor", &[]),
    method("Patch", &[]),
    method("Prerelease", &[]),
    method("SetMetadata", &[Type::String]),
    method("SetPrerelease", &[Type::String]),
    method("String", &[]),
    method("Value", &[]),
    method("Compare", POINTER),
    method("Equal", POINTER),
    method("GreaterThan", POINTER),
    method("GreaterThanEqual", POINTER),
    method("LessThan", POINTER),
    method("LessThanEqual", POINTER),
    method("Original", &[]),
];
/// The number of [`METHODS`] of a value.
const OF_VALUES: usize = 14;

impl Object for VersionObject {
    fn type_name(&self) -> &str {
        if self.pointer {
            "*semver.Version"
        } else {
            "semver.Version"
        }
    }

    fn kind(&self) -> Kind {
        if self.pointer { Kind::Ptr } else { Kind::Struct }
    }

    fn methods(&self) -> &'static [Method] {
        if self.pointer {
            METHODS
        } else {
            METHODS.get(..OF_VALUES).unwrap_or(METHODS)
        }
    }

    fn call(&self, name: &str, args: &[Val]) -> Result<Val, FuncError> {
        let version = &self.version;
        let number = |number| Val::Uint(number, UintType::Uint64);
        let next = |next: Option<Version>, part: &str| {
            let overflow = || FuncError::new(format!("{part} version increment would overflow uint64"));
            next.map(|next| Self::val(next, false)).ok_or_else(overflow)
        };
        let text = || {
            args.first()
                .and_then(Val::as_str)
                .map(Str::to_text)
                .unwrap_or_default()
        };
        Ok(match name {
            "Major" => number(version.major),
            "Minor" => number(version.minor),
            "Patch" => number(version.patch),
            "Prerelease" => Val::str(version.prerelease.as_str()),
            "Metadata" => Val::str(version.metadata.as_str()),
            "Original" => Val::str(version.original.as_str()),
            "String" | "Value" => Val::str(version.to_string()),
            "MarshalJSON" => Val::Bytes(format!("\"{version}\"").into_bytes().into()),
            "MarshalText" => Val::Bytes(version.to_string().into_bytes().into()),
            "IncMajor" => next(version.next_major(), "major")?,
            "IncMinor" => next(version.next_minor(), "minor")?,
            "IncPatch" => next(version.next_patch(), "patch")?,
            "SetPrerelease" => Self::val(version.with_prerelease(&text())?, false),
            "SetMetadata" => Self::val(version.with_metadata(&text())?, false),
            _ => return self.compare(name, args),
        })
    }

    fn string(&self) -> Option<String> {
        Some(self.version.to_string())
    }

    fn json(&self) -> Val {
        Val::str(self.version.to_string())
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl VersionObject {
    fn compare(&self, name: &str, args: &[Val]) -> Result<Val, FuncError> {
        let other = match args.first() {
            Some(Val::Object(object)) => object.as_any().downcast_ref::<Self>(),
            _ => None,
        };
        let Some(other) = other else {
            if name == "Equal" {
                return Ok(Val::Bool(false));
            }
            return Err(super::args::NIL_POINTER.into());
        };
        let order = self.version.precedence(&other.version);
        Ok(match name {
            "Compare" => Val::int(order as i64),
            "Equal" => Val::Bool(order.is_eq()),
            "GreaterThan" => Val::Bool(order.is_gt()),
            "GreaterThanEqual" => Val::Bool(order.is_ge()),
            "LessThan" => Val::Bool(order.is_lt()),
            "LessThanEqual" => Val::Bool(order.is_le()),
            _ => return Err(format!("no method {name}").into()),
        })
    }
}

fn semver(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let version = Version::parse(&call.str(0).to_text())?;
    Ok(VersionObject::val(version, true))
}

fn compare(call: &mut Call<'_, Context>) -> Result<Val, FuncError> {
    let constraint = Constraint::parse(&call.str(0).to_text())?;
    let version = Version::parse(&call.str(1).to_text())?;
    Ok(Val::Bool(constraint.check(&version)))
}

use Type::String as Text;

pub(super) const TABLE: &[Func<Context>] = &[
    func(
        "semver",
        &[Text],
        "The version, with Major, Minor, Patch, Prerelease, …",
        semver,
    ),
    func(
        "semverCompare",
        &[Text, Text],
        "Whether the version satisfies the constraint",
        compare,
    ),
];
