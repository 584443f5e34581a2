//! Conditions of filters: `?(@.name == "web" && @.port > 80)`.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::find::FindBudget;
use super::{Path, PathError};
use crate::unittest::regex::GoRegex;
use crate::value::Value;

/// What a filter asks of a value.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    /// One of them.
    Any(Vec<Condition>),
    /// All of them.
    All(Vec<Condition>),
    /// `!`
    Not(Box<Condition>),
    /// `@.name`: the path selects something. `true` and `false` are what they say.
    Exists(Operand),
    /// `@.name == "web"`: true for each pair of what both sides select.
    Compare(Operand, Comparison, Operand),
    /// `@.name =~ /^web/`
    Matches(Operand, GoRegex),
}

/// A side of a comparison.
#[derive(Debug, Clone)]
pub(super) enum Operand {
    /// `@…`: from the value that is filtered.
    Current(Path),
    /// `$…`: from the document.
    Root(Path),
    /// A number, a text in quotes, `true`, `false` or `null`.
    Literal(Value),
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
}

impl Condition {
    /// Whether it is true for a value of a document.
    pub(super) fn holds(
        &self,
        current: &Value,
        root: &Value,
        budget: &mut FindBudget,
    ) -> Result<bool, PathError> {
        match self {
            Self::Any(any) => {
                for one in any {
                    if one.holds(current, root, budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::All(all) => {
                for one in all {
                    if !one.holds(current, root, budget)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Not(one) => Ok(!one.holds(current, root, budget)?),
            Self::Exists(Operand::Literal(value)) => Ok(*value == Value::Bool(true)),
            Self::Exists(operand) => Ok(!operand.values(current, root, budget)?.is_empty()),
            Self::Compare(left, comparison, right) => {
                let left = left.values(current, root, budget)?;
                let right = right.values(current, root, budget)?;
                let mut pairs = left
                    .iter()
                    .flat_map(|one| right.iter().map(move |other| (one, other)));
                let all = pairs.all(|(one, other)| comparison.holds(one, other));
                Ok(all && !left.is_empty() && !right.is_empty())
            }
            Self::Matches(operand, regex) => {
                let values = operand.values(current, root, budget)?;
                let matches =
                    |value: &Cow<'_, Value>| value.as_str().is_some_and(|text| regex.is_match(text));
                Ok(!values.is_empty() && values.iter().all(matches))
            }
        }
    }
}

impl Operand {
    fn values<'v>(
        &'v self,
        current: &'v Value,
        root: &'v Value,
        budget: &mut FindBudget,
    ) -> Result<Vec<Cow<'v, Value>>, PathError> {
        match self {
            Self::Current(path) => path.find_from(current, root, budget),
            Self::Root(path) => path.find_from(root, root, budget),
            Self::Literal(value) => Ok(vec![Cow::Borrowed(value)]),
        }
    }
}

impl Comparison {
    fn holds(self, one: &Value, other: &Value) -> bool {
        let ordering = compare(one, other);
        match self {
            Self::Equal => ordering == Some(Ordering::Equal),
            Self::NotEqual => ordering != Some(Ordering::Equal),
            Self::Greater => ordering == Some(Ordering::Greater),
            Self::GreaterOrEqual => ordering.is_some_and(Ordering::is_ge),
            Self::Less => ordering == Some(Ordering::Less),
            Self::LessOrEqual => ordering.is_some_and(Ordering::is_le),
        }
    }
}

fn compare(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64().partial_cmp(&other.as_f64()),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        (one, other) => (one == other).then_some(Ordering::Equal),
    }
}
