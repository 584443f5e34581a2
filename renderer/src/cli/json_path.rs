//! JSONPath templates as `kubectl -o jsonpath` and `helm show values --jsonpath` read them: text, and in braces paths,
//! quoted strings, and `range` … `end`.
//!
//! In: a template and a value. Out: text. A path without matches prints nothing, and is not an error.

use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::source::{Location, Source, Span};
use crate::value::{Number, Value};

/// The maximum length of a template, in bytes.
const MAX_TEMPLATE: usize = 64 << 10;
/// The maximum nesting of `range`.
const MAX_DEPTH: usize = 32;
/// The maximum number of values that a template may visit.
const MAX_VISITED: usize = 1_000_000;

/// A piece of a template.
#[derive(Debug, Clone, PartialEq)]
enum Node {
    Text(String),
    /// The alternatives of an action, each printed.
    Path(Vec<Step>),
    Range(Vec<Step>, Vec<Node>),
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// `$`
    Root,
    Field(String),
    /// `*`
    All,
    /// `..`: the value and everything below it.
    Below,
    /// `[1]`, `[-1]`, `[1:3]`, `[::2]`: begin, end, step; a single one has no end and no step.
    Slice(Option<i64>, Option<i64>, i64),
    /// `[0,2]`, `['a','b']`
    Union(Vec<Step>),
    /// `[?(@.a == 1)]`
    Filter(Box<Operand>, Option<(Comparison, Box<Operand>)>),
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Path(Vec<Step>),
    Value(Value),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Evaluates the template for the value.
///
/// # Errors
/// Class usage: an invalid template, with the position; one that visits too many values.
pub(crate) fn print(template: &str, value: &Value) -> Result<String> {
    let mut parser = Parser {
        text: template,
        at: 0,
        depth: 0,
    };
    if template.len() > MAX_TEMPLATE {
        return Err(parser
            .wrong(&format!("it is longer than {MAX_TEMPLATE} bytes"))
            .into());
    }
    let nodes = parser.nodes(false)?;
    let mut run = Run {
        root: value,
        left: MAX_VISITED,
        out: String::new(),
    };
    if run.print(&nodes, value).is_none() {
        let message = format!("--jsonpath visits more than {MAX_VISITED} values");
        return Err(Diagnostic::error(Class::Usage, message).into());
    }
    Ok(run.out)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn wrong(&self, what: &str) -> Diagnostic {
        let source = Source::new("--jsonpath", self.text);
        let at = self.at.min(self.text.len());
        let message = format!("error parsing jsonpath {}: {what}", self.text);
        Diagnostic::error(Class::Usage, message).at(Location::new(&source, Span::new(at, at)))
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn skip_spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Up to the end, or to `{end}`.
    fn nodes(&mut self, in_range: bool) -> Result<Vec<Node>> {
        let mut nodes = Vec::new();
        loop {
            let text = self.rest().split('{').next().unwrap_or("").to_owned();
            self.at += text.len();
            if !text.is_empty() {
                nodes.push(Node::Text(text));
            }
            if !self.eat("{") {
                return match in_range {
                    true => Err(self.wrong("unclosed range: expected {end}").into()),
                    false => Ok(nodes),
                };
            }
            self.skip_spaces();
            if self.is_word("end") {
                self.eat("end");
                self.close()?;
                return match in_range {
                    true => Ok(nodes),
                    false => Err(self.wrong("unexpected {end}").into()),
                };
            }
            if self.is_word("range") {
                self.eat("range");
                self.skip_spaces();
                let over = self.path()?;
                self.close()?;
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(self
                        .wrong(&format!("more than {MAX_DEPTH} ranges in each other"))
                        .into());
                }
                nodes.push(Node::Range(over, self.nodes(true)?));
                self.depth -= 1;
                continue;
            }
            self.action(&mut nodes)?;
        }
    }

    fn is_word(&self, word: &str) -> bool {
        let after = self.rest().strip_prefix(word);
        after.is_some_and(|after| after.starts_with(['}', ' ', '\t']))
    }

    fn close(&mut self) -> Result<()> {
        self.skip_spaces();
        match self.eat("}") {
            true => Ok(()),
            false if self.rest().is_empty() => Err(self.wrong("unclosed action").into()),
            false => Err(self.wrong("unexpected character").into()),
        }
    }

    /// Paths and strings up to the closing brace.
    fn action(&mut self, nodes: &mut Vec<Node>) -> Result<()> {
        loop {
            self.skip_spaces();
            match self.rest().chars().next() {
                None => return Err(self.wrong("unclosed action").into()),
                Some('}') => return self.close(),
                Some('"' | '\'') => nodes.push(Node::Text(self.quoted()?)),
                Some(_) => nodes.push(Node::Path(self.path()?)),
            }
        }
    }

    /// A quoted string, with Go's common escapes.
    fn quoted(&mut self) -> Result<String> {
        let quote = self.rest().chars().next().unwrap_or('"');
        let mut out = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((at, c)) = characters.next() {
            match c {
                c if c == quote => {
                    self.at += at + 1;
                    return Ok(out);
                }
                '\\' => match characters.next() {
                    Some((_, 'n')) => out.push('\n'),
                    Some((_, 't')) => out.push('\t'),
                    Some((_, 'r')) => out.push('\r'),
                    Some((_, other)) => out.push(other),
                    None => break,
                },
                c => out.push(c),
            }
        }
        Err(self.wrong("unterminated quoted string").into())
    }

    fn path(&mut self) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        if self.eat("$") {
            steps.push(Step::Root);
        } else {
            self.eat("@");
        }
        loop {
            if self.eat("..") {
                steps.push(Step::Below);
                if !self.rest().starts_with('[') {
                    steps.push(self.field()?);
                }
            } else if self.eat(".") {
                // A dot alone is the value itself.
                if !self.rest().starts_with(['[', '}', ' ']) && !self.rest().is_empty() {
                    steps.push(self.field()?);
                }
            } else if self.eat("[") {
                steps.push(self.bracket()?);
            } else if self
                .rest()
                .starts_with(['}', ' ', '\t', ')', '=', '!', '<', '>', '\n'])
                || self.rest().is_empty()
            {
                return Ok(steps);
            } else if steps.is_empty() {
                steps.push(self.field()?);
            } else {
                return Err(self.wrong("unexpected character").into());
            }
        }
    }

    fn field(&mut self) -> Result<Step> {
        if self.eat("*") {
            return Ok(Step::All);
        }
        let mut name = String::new();
        let mut end = self.rest().len();
        let mut characters = self.rest().char_indices();
        while let Some((at, c)) = characters.next() {
            match c {
                '\\' => name.extend(characters.next().map(|(_, c)| c)),
                '.' | '[' | ']' | '}' | '{' | ' ' | '\t' | '\n' | ')' | '(' | '=' | '!' | '<' | '>' | ','
                | '$' | '@' => {
                    end = at;
                    break;
                }
                c => name.push(c),
            }
        }
        self.at += end;
        match name.is_empty() {
            true => Err(self.wrong("expected a field's name").into()),
            false => Ok(Step::Field(name)),
        }
    }

    /// The rest of a step after `[`.
    fn bracket(&mut self) -> Result<Step> {
        if self.eat("?(") {
            return self.filter();
        }
        let mut steps = Vec::new();
        loop {
            self.skip_spaces();
            steps.push(match self.rest().chars().next() {
                Some('"' | '\'') => Step::Field(self.quoted()?),
                Some('*') => self.field()?,
                Some(c) if c == '-' || c == ':' || c.is_ascii_digit() => self.slice()?,
                Some(_) => return Err(self.wrong("invalid array index").into()),
                None => return Err(self.wrong("unterminated array").into()),
            });
            self.skip_spaces();
            if self.eat("]") {
                break;
            }
            if !self.eat(",") {
                return Err(self.wrong("unterminated array").into());
            }
        }
        match (steps.pop(), steps.is_empty()) {
            (Some(one), true) => Ok(one),
            (last, _) => Ok(Step::Union(steps.into_iter().chain(last).collect())),
        }
    }

    fn slice(&mut self) -> Result<Step> {
        let length = self.rest().find([']', ',', ' ']).unwrap_or(self.rest().len());
        let text = self.rest().get(..length).unwrap_or("").to_owned();
        let parts: Vec<&str> = text.split(':').collect();
        let number = |part: Option<&&str>| match part {
            None | Some(&"") => Ok(None),
            Some(part) => part
                .parse::<i64>()
                .map(Some)
                .map_err(|_| Diagnostics::from(self.wrong(&format!("invalid array index {text}")))),
        };
        let step = number(parts.get(2))?.unwrap_or(1);
        if step < 1 || parts.len() > 3 {
            return Err(self.wrong("the step of a slice must be at least 1").into());
        }
        let (begin, end) = (number(parts.first())?, number(parts.get(1))?);
        self.at += length;
        // `[2]` is `[2:3]`, and `[-1]` is `[-1:]`.
        let end = match (parts.len(), begin) {
            (1, Some(-1)) => None,
            (1, Some(at)) => Some(at.saturating_add(1)),
            _ => end,
        };
        Ok(Step::Slice(begin, end, step))
    }

    fn filter(&mut self) -> Result<Step> {
        let left = self.operand()?;
        self.skip_spaces();
        let comparisons = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let mut found = None;
        for (text, comparison) in comparisons {
            if self.eat(text) {
                found = Some((comparison, Box::new(self.operand()?)));
                break;
            }
        }
        self.skip_spaces();
        match self.eat(")]") {
            true => Ok(Step::Filter(Box::new(left), found)),
            false => Err(self.wrong("unterminated filter").into()),
        }
    }

    fn operand(&mut self) -> Result<Operand> {
        self.skip_spaces();
        let first = self.rest().chars().next();
        if first.is_some_and(|c| c == '"' || c == '\'') {
            return Ok(Operand::Value(Value::from(self.quoted()?)));
        }
        if first.is_some_and(|c| c == '-' || c.is_ascii_digit()) {
            let length = self
                .rest()
                .find([')', ' ', '=', '!', '<', '>'])
                .unwrap_or(self.rest().len());
            let text = self.rest().get(..length).unwrap_or("").to_owned();
            let number: f64 = text
                .parse()
                .map_err(|_| self.wrong(&format!("cannot parse {text} as a number")))?;
            self.at += length;
            return Ok(Operand::Value(Value::Number(Number::Float(number))));
        }
        for (word, value) in [("true", true), ("false", false)] {
            let after = self.rest().strip_prefix(word);
            if after.is_some_and(|after| after.starts_with([')', ' ', '=', '!'])) {
                self.eat(word);
                return Ok(Operand::Value(Value::Bool(value)));
            }
        }
        self.path().map(Operand::Path)
    }
}

struct Run<'v> {
    root: &'v Value,
    left: usize,
    out: String,
}

/// `None` from any method: too many values were visited.
impl<'v> Run<'v> {
    fn print(&mut self, nodes: &[Node], current: &'v Value) -> Option<()> {
        for node in nodes {
            match node {
                Node::Text(text) => self.out.push_str(text),
                Node::Path(path) => {
                    let found = self.find(path, current)?;
                    let texts: Vec<String> = found.into_iter().map(shown).collect();
                    self.out.push_str(&texts.join(" "));
                }
                Node::Range(path, inner) => {
                    for one in self.find(path, current)? {
                        self.print(inner, one)?;
                    }
                }
            }
        }
        Some(())
    }

    fn find(&mut self, path: &[Step], current: &'v Value) -> Option<Vec<&'v Value>> {
        let mut found = vec![current];
        for step in path {
            found = self.step(step, found)?;
        }
        Some(found)
    }

    fn step(&mut self, step: &Step, from: Vec<&'v Value>) -> Option<Vec<&'v Value>> {
        let mut found = Vec::new();
        for value in from {
            self.left = self.left.checked_sub(1)?;
            match step {
                Step::Root => found.push(self.root),
                Step::Field(name) => found.extend(value.as_map().and_then(|map| map.get(name))),
                Step::All => found.extend(children(value)),
                Step::Below => self.below(value, &mut found)?,
                Step::Slice(begin, end, step) => slice(value, (*begin, *end, *step), &mut found),
                Step::Union(steps) => {
                    for one in steps {
                        found.extend(self.step(one, vec![value])?);
                    }
                }
                Step::Filter(left, right) => {
                    for one in children(value) {
                        if self.fits(one, left, right.as_ref())? {
                            found.push(one);
                        }
                    }
                }
            }
        }
        Some(found)
    }

    fn below(&mut self, value: &'v Value, found: &mut Vec<&'v Value>) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        found.push(value);
        children(value).try_for_each(|one| self.below(one, found))
    }

    fn fits(
        &mut self,
        one: &'v Value,
        left: &Operand,
        right: Option<&(Comparison, Box<Operand>)>,
    ) -> Option<bool> {
        let left = self.values(left, one)?;
        let Some((comparison, right)) = right else {
            return Some(!left.is_empty());
        };
        let right = self.values(right, one)?;
        Some(match (left.as_slice(), right.as_slice()) {
            ([left], [right]) => compare(left, right, *comparison),
            _ => false,
        })
    }

    fn values(&mut self, operand: &Operand, one: &'v Value) -> Option<Vec<Value>> {
        match operand {
            Operand::Value(value) => Some(vec![value.clone()]),
            Operand::Path(path) => Some(self.find(path, one)?.into_iter().cloned().collect()),
        }
    }
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::List(list) => Box::new(list.iter()),
        Value::Map(map) => Box::new(map.iter().map(|(_, value)| value)),
        _ => Box::new(std::iter::empty()),
    }
}

fn slice<'v>(
    value: &'v Value,
    (begin, end, step): (Option<i64>, Option<i64>, i64),
    found: &mut Vec<&'v Value>,
) {
    let Value::List(list) = value else { return };
    let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
    let at = |at: i64| if at < 0 { at + length } else { at }.clamp(0, length);
    let (begin, end) = (at(begin.unwrap_or(0)), at(end.unwrap_or(length)));
    let range = usize::try_from(begin).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
    let step = usize::try_from(step).unwrap_or(1);
    found.extend(list.get(range).unwrap_or_default().iter().step_by(step));
}

fn compare(left: &Value, right: &Value, comparison: Comparison) -> bool {
    let order = match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64().partial_cmp(&right.as_f64()),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        _ => left
            .as_str()
            .zip(right.as_str())
            .map(|(left, right)| left.cmp(right)),
    };
    order.is_some_and(|order| match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    })
}

/// Strings as they are, everything else as JSON; null is empty.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        _ => value.as_str().map_or_else(|| value.to_json(), str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    fn value() -> Value {
        let text = "a: {b: x, 'c.d': 2}\nlist: [{id: one, v: 1}, {id: two, v: 2}, {id: three}]\nnone: null\nflag: true\n";
        yaml::parse(&Source::new("v", text), Class::Values, &yaml::Limits::default())
            .unwrap()
            .into_value()
    }

    #[test]
    fn templates_print_what_their_paths_find() {
        let value = value();
        for (template, expected) in [
            ("plain", "plain"),
            ("{.a.b}", "x"),
            ("{a.b}", "x"),
            ("{$.a.b}!", "x!"),
            ("{.a['c.d']}", "2"),
            (r"{.a.c\.d}", "2"),
            ("{.nope.more}", ""),
            ("{.none}", ""),
            ("{.flag} {.a}", r#"true {"b":"x","c.d":2}"#),
            ("{.list[*].id}", "one two three"),
            ("{.list[-1].id}", "three"),
            ("{.list[0,2].id}", "one three"),
            ("{.list[1:].id}", "two three"),
            ("{.list[::2].id}", "one three"),
            ("{.list[?(@.v)].id}", "one two"),
            ("{.list[?(@.v > 1)].id}", "two"),
            (r#"{.list[?(@.id=="one")].v}"#, "1"),
            ("{..id}", "one two three"),
            (
                r#"{range .list[*]}{.id}{"\t"}{.v}{"\n"}{end}"#,
                "one\t1\ntwo\t2\nthree\t\n",
            ),
            (r#"{range .list[*]}{$.a.b}{end}"#, "xxx"),
        ] {
            assert_eq!(print(template, &value).unwrap(), expected, "{template}");
        }
    }

    #[test]
    fn invalid_templates_are_refused_with_the_position() {
        let deep = "{range .list[*]}".repeat(MAX_DEPTH + 1);
        let long = "x".repeat(MAX_TEMPLATE + 1);
        for bad in [
            "{.a",
            "{.a[}",
            "{.a[0}",
            "{range .a}",
            "{end}",
            "{.a[?(@.b==)]",
            "{\"x}",
            "{.a[1:2:0]}",
            "{.a[x]}",
            &deep,
            &long,
        ] {
            let problem = print(bad, &value()).unwrap_err();
            assert!(problem.iter().all(|one| one.location.is_some()), "{problem}");
        }
        // Each step finds ten times as many.
        let many = format!("{{{}}}", "[0,0,0,0,0,0,0,0,0,0]".repeat(7));
        let nested = (0..8).fold(Value::Null, |inner, _| Value::List(vec![inner]));
        let problem = print(&many, &nested).unwrap_err();
        assert!(problem.to_string().contains("visits more than"), "{problem}");
    }
}
