//! Calls: arguments checked against declared types, then the function.

use super::ast::{Expr, ExprKind, FuncId, NodePosition};
use super::builtins::{Builtin, Special};
use super::error::{Detail, Failure};
use super::eval::Arguments;
use super::exec::{Frame, Ran};
use super::func::Call;
use super::functions::Callee;
use super::limits::{BYTES_OF_A_STEP, ITEMS_OF_A_STEP, MAX_LIST_ITEMS, MAX_TEXT_BYTES};
use super::print::quote;
use super::run::Slot;
use super::signature::{FuncError, Type};
use super::value::{IntType, ListType, UintType, Val};

impl Type {
    /// Go's name of it.
    pub(super) fn go_name(self) -> &'static str {
        match self {
            Self::Value => "reflect.Value",
            Self::Any => "interface {}",
            Self::String => "string",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Float64 => "float64",
            Self::Anys => "[]interface {}",
            Self::Strings => "[]string",
            Self::Dict => "map[string]interface {}",
            Self::Bytes => "[]uint8",
            Self::Time => "time.Time",
            Self::Duration => "time.Duration",
            Self::Named(name) => name,
        }
    }

    fn can_be_nil(self) -> bool {
        match self {
            Self::Value | Self::Any | Self::Anys | Self::Strings | Self::Dict | Self::Bytes => true,
            Self::String
            | Self::Bool
            | Self::Int
            | Self::Int64
            | Self::Uint32
            | Self::Float64
            | Self::Time
            | Self::Duration => false,
            Self::Named(name) => name.starts_with('*'),
        }
    }

    /// Whether it accepts a value that is not nil.
    fn takes(self, value: &Val) -> bool {
        match (self, value) {
            (Self::Value | Self::Any, _)
            | (Self::String, Val::Str(_))
            | (Self::Bool, Val::Bool(_))
            | (Self::Int, Val::Int(_, IntType::Int))
            | (Self::Int64, Val::Int(_, IntType::Int64))
            | (Self::Uint32, Val::Uint(_, UintType::Uint32))
            | (Self::Duration, Val::Int(_, IntType::Duration))
            | (Self::Float64, Val::Float(_))
            | (Self::Bytes, Val::Bytes(_)) => true,
            (Self::Anys, Val::List(list)) => list.kind() == ListType::Any,
            (Self::Strings, Val::List(list)) => list.kind() == ListType::Strings,
            (Self::Dict, Val::Map(map)) => !map.holds_strings(),
            (Self::Time, Val::Object(object)) => object.type_name() == "time.Time",
            (Self::Named(name), Val::Object(object)) => object.type_name() == name,
            _ => false,
        }
    }
}

impl<'r, C: 'static> Frame<'r, '_, C> {
    /// Calls a function; `place` is what an error of the function is about.
    pub(super) fn call(
        &mut self,
        id: FuncId,
        name: &str,
        place: NodePosition,
        arguments: Arguments<'r>,
        dot: &Slot,
    ) -> Ran<Val> {
        let Some(callee) = self.run.functions.get(id) else {
            return self.fail(format!("{} is not a defined function", quote(name)));
        };
        let result = match callee {
            Callee::Builtin(builtin) => match builtin.call {
                Special::And => return self.short_circuit(builtin, false, arguments, dot),
                Special::Or => return self.short_circuit(builtin, true, arguments, dot),
                Special::Call => self.call_value(builtin, arguments, dot)?,
                Special::Plain(call) => {
                    let args = self.arguments(builtin.params, builtin.variadic, name, arguments, dot)?;
                    call(&args).map_err(Failure::from)
                }
            },
            Callee::Native(func) => {
                let mut args = self.arguments(func.params, func.variadic, name, arguments, dot)?;
                unbox(&mut args);
                let mut call = Call {
                    args: &args,
                    context: &mut self.run.context,
                };
                let result = (func.call)(&mut call).map_err(Failure::from);
                self.work(id, &args, &result)?;
                result
            }
            Callee::Engine(func) => {
                let mut args = self.arguments(func.params, false, name, arguments, dot)?;
                unbox(&mut args);
                (func.call)(self.run, &args)
            }
        };
        self.check_memory()?;
        match result {
            Ok(value) => {
                self.check_size(name, &value)?;
                Ok(value)
            }
            Err(failure) => {
                self.at = place;
                Err(self.failure(name, failure))
            }
        }
    }

    /// Counts the steps of a call: for its texts, and the function's own cost.
    fn work(&mut self, id: FuncId, args: &[Val], result: &Result<Val, Failure>) -> Ran<()> {
        let mut bytes = match result {
            Ok(Val::Str(text)) => text.len(),
            _ => 0,
        };
        for arg in args {
            if let Val::Str(text) = arg {
                bytes += text.len();
            }
        }
        self.steps(self.run.functions.work(id) + (bytes / BYTES_OF_A_STEP) as u64)
    }

    fn failure(&self, name: &str, failure: Failure) -> Box<super::Error> {
        let calling = format!("error calling {name}: ");
        match failure {
            Failure::Fault(FuncError { message, asked_for }) => {
                let mut error = self.error(format!("{calling}{message}"));
                error.by_function = true;
                if asked_for {
                    error.detail = Detail::Words(message);
                }
                error
            }
            Failure::Limit(message) => self.error(format!("{calling}{message}")).limit(),
            Failure::NoTemplate(wanted) => {
                let message = format!(
                    "{calling}template: no template {} associated with template \"gotpl\"",
                    quote(&wanted)
                );
                let mut error = self.error(message);
                error.detail = Detail::NoTemplate(wanted);
                error
            }
            Failure::Nested { prefix, error: cause } => {
                let mut error = self.error(format!("{calling}{prefix}"));
                error.by_function = !prefix.is_empty();
                error.cause = Some(cause);
                error
            }
        }
    }

    fn check_size(&mut self, name: &str, value: &Val) -> Ran<()> {
        let message = match value {
            Val::Str(text) if text.len() > MAX_TEXT_BYTES => {
                format!("{name} gives a text of more than {MAX_TEXT_BYTES} bytes")
            }
            Val::List(list) if list.len() > MAX_LIST_ITEMS => {
                format!("{name} gives a list of more than {MAX_LIST_ITEMS} items")
            }
            // Creating a list of many items takes as long as many steps.
            Val::List(list) if list.is_new() => return self.steps((list.len() / ITEMS_OF_A_STEP) as u64),
            _ => return Ok(()),
        };
        Err(self.error(message).limit())
    }

    /// `and` and `or`: the first argument that decides, or the last.
    fn short_circuit(
        &mut self,
        builtin: &Builtin,
        or: bool,
        arguments: Arguments<'r>,
        dot: &Slot,
    ) -> Ran<Val> {
        self.check_count(builtin.params.len(), true, builtin.name, &arguments)?;
        let Arguments { words, last } = arguments;
        let mut value = Val::Nil;
        for word in words {
            value = self.argument(Type::Value, word, dot)?;
            if value.truth() == or {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }

    /// `call`: no value here is a function.
    fn call_value(
        &mut self,
        builtin: &Builtin,
        arguments: Arguments<'r>,
        dot: &Slot,
    ) -> Ran<Result<Val, Failure>> {
        let written = match arguments.words.first() {
            Some(word) => self.tree.quoted(word),
            None => arguments.last.as_ref().map_or(String::new(), reflected),
        };
        let args = self.arguments(builtin.params, true, builtin.name, arguments, dot)?;
        let message = match args.first() {
            Some(value) if !value.is_nil() => format!("non-function {written} of type {}", value.type_name()),
            _ => "call of nil".to_owned(),
        };
        Ok(Err(Failure::Fault(FuncError::new(message))))
    }

    fn check_count(&self, declared: usize, variadic: bool, name: &str, arguments: &Arguments<'_>) -> Ran<()> {
        let given = arguments.words.len() + usize::from(arguments.last.is_some());
        if variadic && given < declared - 1 {
            let written = arguments.words.len();
            return self.fail(format!(
                "wrong number of args for {name}: want at least {} got {written}",
                declared - 1
            ));
        }
        if !variadic && given != declared {
            return self.fail(format!(
                "wrong number of args for {name}: want {declared} got {given}"
            ));
        }
        Ok(())
    }

    /// The values of the arguments, with their declared types.
    pub(super) fn arguments(
        &mut self,
        params: &[Type],
        variadic: bool,
        name: &str,
        arguments: Arguments<'r>,
        dot: &Slot,
    ) -> Ran<Vec<Val>> {
        self.check_count(params.len(), variadic, name, &arguments)?;
        let kind = |index: usize| params.get(index).or(params.last()).copied().unwrap_or(Type::Any);
        let Arguments { words, last } = arguments;
        let mut values = Vec::with_capacity(words.len() + 1);
        for (index, word) in words.iter().enumerate() {
            values.push(self.argument(kind(index), word, dot)?);
        }
        if let Some(last) = last {
            let index = values.len();
            values.push(self.checked(last, kind(index))?);
        }
        Ok(values)
    }

    fn argument(&mut self, kind: Type, word: &'r Expr, dot: &Slot) -> Ran<Val> {
        self.at_expr(word);
        match word.kind {
            ExprKind::Dot => self.checked(dot.value.clone(), kind),
            ExprKind::Nil if kind.can_be_nil() => Ok(Val::Nil),
            ExprKind::Nil => self.fail(format!("cannot assign nil to {}", kind.go_name())),
            ExprKind::Field(fields) => {
                let value = self.chain(dot, dot.clone(), fields, Arguments::NONE)?;
                self.checked(value, kind)
            }
            ExprKind::Variable { start, fields } => {
                let slot = self.read(start, fields.start)?;
                let value = self.chain(dot, slot, fields, Arguments::NONE)?;
                self.checked(value, kind)
            }
            ExprKind::Pipe(pipe) => {
                let value = self.pipeline(pipe, dot)?;
                self.checked(value, kind)
            }
            ExprKind::Function { id, end } => {
                let place = self.at;
                let name = self.function_name(word, end);
                let value = self.call(id, name, place, Arguments::NONE, dot)?;
                self.checked(value, kind)
            }
            ExprKind::Chain { node, fields } => {
                let value = self.chain_on(word, node, fields, dot, Arguments::NONE)?;
                self.checked(value, kind)
            }
            _ => self.literal(kind, word, dot),
        }
    }

    /// A literal, by the type that is expected.
    fn literal(&mut self, kind: Type, word: &Expr, dot: &Slot) -> Ran<Val> {
        let number = match word.kind {
            ExprKind::Number(number) => number.find(&self.tree.code.numbers),
            _ => None,
        };
        let (found, expected) = match kind {
            Type::Value | Type::Any => return self.constant(word, dot),
            Type::Bool => match word.kind {
                ExprKind::Bool(value) => (Some(Val::Bool(value)), "bool"),
                _ => (None, "bool"),
            },
            Type::String => match word.kind {
                ExprKind::Str { .. } => return self.constant(word, dot),
                _ => (None, "string"),
            },
            Type::Int | Type::Int64 | Type::Duration => {
                let kind = match kind {
                    Type::Int => IntType::Int,
                    Type::Int64 => IntType::Int64,
                    _ => IntType::Duration,
                };
                let value = number.and_then(|number| number.int);
                (value.map(|value| Val::Int(value, kind)), "integer")
            }
            Type::Uint32 => {
                // Go truncates values that don't fit.
                let value = number.and_then(|number| number.uint);
                let value = value.map(|value| Val::Uint(value & u64::from(u32::MAX), UintType::Uint32));
                (value, "unsigned integer")
            }
            Type::Float64 => (number.and_then(|number| number.float).map(Val::Float), "float"),
            other => {
                let word = self.tree.quoted(word);
                return self.fail(format!("can't handle {word} for arg of type {}", other.go_name()));
            }
        };
        match found {
            Some(value) => Ok(value),
            None => self.fail(format!("expected {expected}; found {}", self.tree.quoted(word))),
        }
    }

    /// A value for a parameter of a type.
    fn checked(&self, value: Val, kind: Type) -> Ran<Val> {
        match &value {
            Val::Nil if kind.can_be_nil() => Ok(value),
            Val::Nil => self.fail(format!("invalid value; expected {}", kind.go_name())),
            Val::Null if matches!(kind, Type::Value | Type::Any) => Ok(value),
            Val::Null => self.fail(format!(
                "wrong type for value; expected {}; got interface {{}}",
                kind.go_name()
            )),
            other if kind.takes(other) => Ok(value),
            other => self.fail(format!(
                "wrong type for value; expected {}; got {}",
                kind.go_name(),
                other.type_name()
            )),
        }
    }
}

/// Functions don't distinguish the kinds of nil.
fn unbox(args: &mut [Val]) {
    for arg in args {
        if let Val::Null = arg {
            *arg = Val::Nil;
        }
    }
}

/// The result of Go's `reflect.Value.String`.
fn reflected(value: &Val) -> String {
    match value {
        Val::Str(text) => text.to_text().into_owned(),
        Val::Nil | Val::Null => "<invalid Value>".to_owned(),
        other => format!("<{} Value>", other.type_name()),
    }
}
