//! The types of Kubernetes' own kinds, from one line of the embedded schemas. `testdata/kubernetes/README.md` has the
//! grammar.

use crate::source::Span;

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FieldType {
    String,
    /// A text, one of these.
    Enum(Vec<String>),
    Int32,
    Int64,
    Float,
    Bool,
    /// Base64.
    Bytes,
    Quantity,
    IntOrString,
    /// RFC 3339.
    Time,
    /// Any map.
    Object,
    Any,
    /// Another definition, by number.
    Definition(usize),
    List {
        items: Box<FieldType>,
        unique: ListKeys,
    },
    Map(Box<FieldType>),
    /// One of several types.
    Either(Vec<FieldType>),
}

/// What must be unique in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListKeys {
    /// Nothing.
    None,
    /// The items themselves.
    Items,
    /// These fields of the items together.
    Fields(Vec<String>),
}

/// A field of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) required: bool,
    pub(super) kind: FieldType,
}

/// The fields of a definition, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Definition {
    pub(super) fields: Vec<Field>,
}

impl Definition {
    /// The fields of a line; one that can't be read accepts anything, and a test reads them all.
    pub(super) fn read(body: &'static str) -> Self {
        let fields = body.split(' ').filter(|field| !field.is_empty());
        Self {
            fields: fields.filter_map(Field::read).collect(),
        }
    }

    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        let index = self.fields.binary_search_by(|field| field.name.cmp(name)).ok()?;
        self.fields.get(index)
    }
}

impl Field {
    fn read(text: &'static str) -> Option<Self> {
        let (name, kind) = text.split_once(':')?;
        Some(Self {
            name: name.trim_end_matches('!'),
            required: name.ends_with('!'),
            kind: FieldType::read(kind)?,
        })
    }
}

impl FieldType {
    fn read(text: &str) -> Option<Self> {
        if text.contains('|') {
            let either: Option<Vec<Self>> = text.split('|').map(Self::read).collect();
            return either.map(Self::Either);
        }
        let mut chars = text.chars();
        let first = chars.next()?;
        let rest = chars.as_str();
        Some(match first {
            's' => Self::String,
            'i' => Self::Int32,
            'l' => Self::Int64,
            'n' => Self::Float,
            'b' => Self::Bool,
            'y' => Self::Bytes,
            'q' => Self::Quantity,
            'x' => Self::IntOrString,
            't' => Self::Time,
            'o' => Self::Object,
            '*' => Self::Any,
            '#' => Self::Definition(rest.parse().ok()?),
            '<' => Self::Map(Box::new(Self::read(rest)?)),
            '(' => {
                let values = rest.strip_suffix(')')?.split(',');
                Self::Enum(values.map(|value| value.replace('_', " ")).collect())
            }
            '[' => {
                let (unique, items) = match rest.strip_prefix('@') {
                    None => (ListKeys::None, rest),
                    Some(rest) => match rest.split_once('@')? {
                        ("", items) => (ListKeys::Items, items),
                        (keys, items) => {
                            let keys = keys.split(',').map(str::to_owned);
                            (ListKeys::Fields(keys.collect()), items)
                        }
                    },
                };
                Self::List {
                    items: Box::new(Self::read(items)?),
                    unique,
                }
            }
            _ => return None,
        })
    }
}

/// The span of a value; where it is set, if the reader has none for it.
pub(super) fn or_at(span: Span, otherwise: Span) -> Span {
    if span == Span::default() { otherwise } else { span }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_fields_with_types() {
        let read = Definition::read("a!:s b:[@name@#12 c:<q d:(A,B_C) e:b|#3 f:[@@s");
        let kinds: Vec<_> = read
            .fields
            .iter()
            .map(|field| (field.name, field.required, format!("{:?}", field.kind)))
            .collect();
        let expected = [
            ("a", true, "String"),
            (
                "b",
                false,
                "List { items: Definition(12), unique: Fields([\"name\"]) }",
            ),
            ("c", false, "Map(Quantity)"),
            ("d", false, "Enum([\"A\", \"B C\"])"),
            ("e", false, "Either([Bool, Definition(3)])"),
            ("f", false, "List { items: String, unique: Items }"),
        ];
        let expected = expected.map(|(name, required, kind)| (name, required, kind.to_owned()));
        assert_eq!(kinds, expected);
        assert!(FieldType::read("?").is_none() && FieldType::read("#x").is_none());
    }
}
