//! Parses paths.

use super::filter::{Comparison, Condition, Operand};
use super::{Index, Path, PathError, Step};
use crate::unittest::regex::GoRegex;
use crate::value::{Number, Value};

/// The maximum nesting of brackets and negations in a filter.
pub const MAX_FILTER_DEPTH: usize = 64;

impl Path {
    /// Parses a path.
    ///
    /// # Errors
    /// It is no path: the reason, and its position.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
        };
        // yaml-jsonpath reads blanks only before names in quotes.
        let behind = text.trim_start_matches(' ').strip_prefix('[');
        if behind.is_some_and(|rest| rest.trim_start_matches(' ').starts_with(['\'', '"'])) {
            parser.blanks();
        }
        let is_rooted = parser.take("$");
        let mut steps = Vec::new();
        if !is_rooted && !text.is_empty() && !parser.rest().starts_with(['.', '[']) {
            parser.named(&mut steps)?;
        }
        parser.steps(&mut steps)?;
        match parser.rest() {
            "" => Ok(Self { steps }),
            _ => Err(parser.error("unexpected text")),
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
    }

    fn error(&self, message: impl Into<String>) -> PathError {
        PathError {
            message: message.into(),
            position: self.at,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), PathError> {
        match self.take(token) {
            true => Ok(()),
            false => Err(self.error(format!("expected {token:?}"))),
        }
    }

    /// All steps up to what can't begin one.
    fn steps(&mut self, steps: &mut Vec<Step>) -> Result<(), PathError> {
        loop {
            if self.take("..") {
                steps.push(Step::Descend);
                if !self.rest().starts_with('[') {
                    self.named(steps)?;
                    continue;
                }
                self.bracket(steps)?;
                if let Some(Step::Filter(condition)) = steps.pop_if(|step| matches!(step, Step::Filter(_))) {
                    steps.push(Step::FilterItems(condition));
                }
            } else if self.take(".") {
                self.named(steps)?;
            } else if self.rest().starts_with('[') {
                self.bracket(steps)?;
            } else {
                return Ok(());
            }
        }
    }

    /// `name`, `name~`, `*`
    fn named(&mut self, steps: &mut Vec<Step>) -> Result<(), PathError> {
        let rest = self.rest();
        let in_filter = self.depth > 0;
        let ends = |char: char| {
            matches!(char, '.' | '[' | '~')
                || in_filter && matches!(char, ' ' | '\t' | ')' | '=' | '!' | '<' | '>' | '&' | '|')
        };
        let name = rest.split(ends).next().unwrap_or("");
        if name.is_empty() || name.starts_with(' ') {
            return Err(self.error("child name missing"));
        }
        if let Some(at) = name.find(' ') {
            self.at += at;
            return Err(self.error("invalid character ' '"));
        }
        self.at += name.len();
        if name == "*" {
            steps.push(match self.take("~") {
                // A value that no key leads to has no name.
                true => Step::Names(Vec::new()),
                false => Step::All,
            });
            return Ok(());
        }
        let names = vec![name.to_owned()];
        steps.push(match self.take("~") {
            true => Step::Names(names),
            false => Step::Children(names),
        });
        Ok(())
    }

    /// `['name']`, `[0]`, `[*]`, `[?(…)]`
    fn bracket(&mut self, steps: &mut Vec<Step>) -> Result<(), PathError> {
        self.expect("[")?;
        self.blanks();
        let step = if self.take("?(") {
            let condition = self.condition()?;
            self.expect(")")?;
            Step::Filter(condition)
        } else if self.take("*") {
            self.blanks();
            self.expect("]")?;
            steps.push(match self.take("~") {
                true => Step::AllNames,
                false => Step::All,
            });
            return Ok(());
        } else if self.rest().starts_with(['\'', '"']) {
            return self.bracket_names(steps);
        } else {
            Step::Items(self.indices()?)
        };
        self.blanks();
        self.expect("]")?;
        steps.push(step);
        Ok(())
    }

    fn bracket_names(&mut self, steps: &mut Vec<Step>) -> Result<(), PathError> {
        let mut names = Vec::new();
        loop {
            self.blanks();
            names.push(self.quoted()?);
            self.blanks();
            if !self.take(",") {
                break;
            }
        }
        self.expect("]")?;
        steps.push(match self.take("~") {
            true => Step::Names(names),
            false => Step::Children(names),
        });
        Ok(())
    }

    fn quoted(&mut self) -> Result<String, PathError> {
        let begin = self.at;
        let mut chars = self.rest().chars();
        let quote = chars.next().filter(|char| matches!(char, '\'' | '"'));
        let Some(quote) = quote else {
            return Err(self.error("child name missing"));
        };
        let mut out = String::new();
        while let Some(char) = chars.next() {
            match char {
                '\\' => match chars.next() {
                    Some(escaped) if escaped == quote || escaped == '\\' => out.push(escaped),
                    Some(other) => out.extend(['\\', other]),
                    None => break,
                },
                char if char == quote => {
                    self.at = self.text.len() - chars.as_str().len();
                    return Ok(out);
                }
                char => out.push(char),
            }
        }
        self.at = begin;
        Err(self.error("unmatched quote"))
    }

    fn indices(&mut self) -> Result<Vec<Index>, PathError> {
        let mut out = Vec::new();
        loop {
            self.blanks();
            let start = self.integer()?;
            self.blanks();
            if self.take(":") {
                let end = self.integer()?;
                let step = match self.take(":") {
                    true => self.integer()?,
                    false => None,
                };
                let step = step.unwrap_or(1);
                if step == 0 {
                    return Err(self.error("array index step value must be non-zero"));
                }
                out.push(Index::Range { start, end, step });
            } else {
                let Some(one) = start else {
                    return Err(self.error("expected an index, a name in quotes, `*` or `?(…)`"));
                };
                out.push(Index::One(one));
            }
            self.blanks();
            if !self.take(",") {
                return Ok(out);
            }
        }
    }

    fn integer(&mut self) -> Result<Option<i64>, PathError> {
        self.blanks();
        let rest = self.rest();
        let sign = usize::from(rest.starts_with(['-', '+']));
        let digits = rest.get(sign..).unwrap_or("");
        let length = digits.len()
            - digits
                .trim_start_matches(|char: char| char.is_ascii_digit())
                .len();
        if length == 0 {
            return Ok(None);
        }
        let text = rest.get(..sign + length).unwrap_or("");
        let number = text.parse().map_err(|_| self.error("index out of range"))?;
        self.at += text.len();
        Ok(Some(number))
    }

    /// `a || b`
    fn condition(&mut self) -> Result<Condition, PathError> {
        if self.depth >= MAX_FILTER_DEPTH {
            return Err(self.error(format!("filters nest at most {MAX_FILTER_DEPTH} deep")));
        }
        self.depth += 1;
        let mut any = vec![self.conjunction()?];
        while self.take("||") {
            any.push(self.conjunction()?);
        }
        self.depth -= 1;
        Ok(Condition::Any(any))
    }

    fn conjunction(&mut self) -> Result<Condition, PathError> {
        let mut all = vec![self.basic()?];
        while self.take("&&") {
            all.push(self.basic()?);
        }
        Ok(Condition::All(all))
    }

    /// A comparison, a term, a negation or a condition in brackets; with the blanks around it.
    fn basic(&mut self) -> Result<Condition, PathError> {
        self.blanks();
        let one = if self.take("!") {
            if self.depth >= MAX_FILTER_DEPTH {
                return Err(self.error(format!("filters nest at most {MAX_FILTER_DEPTH} deep")));
            }
            self.depth += 1;
            let negated = self.basic();
            self.depth -= 1;
            Condition::Not(Box::new(negated?))
        } else if self.take("(") {
            let inner = self.condition()?;
            self.expect(")")?;
            inner
        } else {
            self.comparison()?
        };
        self.blanks();
        Ok(one)
    }

    fn comparison(&mut self) -> Result<Condition, PathError> {
        const OPERATORS: [(&str, Comparison); 6] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<=", Comparison::LessOrEqual),
            (">", Comparison::Greater),
            ("<", Comparison::Less),
        ];
        let left = self.operand()?;
        self.blanks();
        if self.take("=~") {
            self.blanks();
            let pattern = self.pattern()?;
            let regex = GoRegex::new(&pattern).map_err(|why| self.error(why))?;
            return Ok(Condition::Matches(left, regex));
        }
        for (token, comparison) in OPERATORS {
            if self.take(token) {
                self.blanks();
                let right = self.operand()?;
                return Ok(Condition::Compare(left, comparison, right));
            }
        }
        match left {
            Operand::Literal(Value::Bool(_)) => Ok(Condition::Exists(left)),
            Operand::Literal(_) => Err(self.error("a literal alone is no condition")),
            path => Ok(Condition::Exists(path)),
        }
    }

    fn operand(&mut self) -> Result<Operand, PathError> {
        for (token, make) in [
            ("@", Operand::Current as fn(Path) -> Operand),
            ("$", Operand::Root as fn(Path) -> Operand),
        ] {
            if self.take(token) {
                let mut steps = Vec::new();
                self.steps(&mut steps)?;
                // yaml-jsonpath can't read them there.
                let is_refused =
                    |step: &Step| matches!(step, Step::Descend | Step::Names(_) | Step::AllNames);
                if steps.iter().any(is_refused) {
                    return Err(self.error("`..` and `~` are not allowed in filters"));
                }
                return Ok(make(Path { steps }));
            }
        }
        for (word, value) in [
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("null", Value::Null),
        ] {
            if self.take(word) {
                return Ok(Operand::Literal(value));
            }
        }
        if self.rest().starts_with(['\'', '"']) {
            return Ok(Operand::Literal(Value::String(self.quoted()?)));
        }
        self.number()
            .map(|number| Operand::Literal(Value::Number(number)))
    }

    fn number(&mut self) -> Result<Number, PathError> {
        let rest = self.rest();
        let ends = |char: char| !(char.is_ascii_digit() || matches!(char, '-' | '+' | '.' | 'e' | 'E'));
        let text = rest.split(ends).next().unwrap_or("");
        let number = match text.parse::<i64>() {
            Ok(number) => Number::Int(number),
            Err(_) => match text.parse::<f64>() {
                Ok(number) if !text.is_empty() => Number::Float(number),
                _ => return Err(self.error("missing filter term")),
            },
        };
        self.at += text.len();
        Ok(number)
    }

    /// `/…/`, with `\/` for a slash.
    fn pattern(&mut self) -> Result<String, PathError> {
        self.expect("/")?;
        let mut out = String::new();
        let mut chars = self.rest().chars();
        while let Some(char) = chars.next() {
            match char {
                '/' => {
                    self.at = self.text.len() - chars.as_str().len();
                    return Ok(out);
                }
                '\\' => match chars.next() {
                    Some('/') => out.push('/'),
                    Some(other) => out.extend(['\\', other]),
                    None => break,
                },
                char => out.push(char),
            }
        }
        Err(self.error("unmatched regular expression delimiter"))
    }
}
