//! Standard input as a source of values, which several charts and renderings of one command read: `validate A B -f -`.

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

/// What was read of standard input so far.
#[derive(Default)]
pub(crate) struct ValuesInput {
    known: Mutex<Vec<u8>>,
}

/// Standard input from its beginning.
pub(crate) struct ValuesReader<'i, R> {
    input: &'i ValuesInput,
    source: R,
    at: usize,
}

impl ValuesInput {
    /// All of it, whoever has read it before.
    pub(crate) fn reader(&self) -> ValuesReader<'_, io::Stdin> {
        self.reader_of(io::stdin())
    }

    fn reader_of<R: Read>(&self, source: R) -> ValuesReader<'_, R> {
        ValuesReader {
            input: self,
            source,
            at: 0,
        }
    }
}

impl<R: Read> Read for ValuesReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut known = self.input.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rest = known.get(self.at..).unwrap_or_default();
        let count = if rest.is_empty() {
            let count = self.source.read(buffer)?;
            known.extend_from_slice(buffer.get(..count).unwrap_or_default());
            count
        } else {
            rest.read(buffer)?
        };
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_begins_at_the_beginning() {
        let input = ValuesInput::default();
        let mut source: &[u8] = b"a: 1\nb: 2\n";
        let mut start = [0; 3];
        input.reader_of(&mut source).read_exact(&mut start).unwrap();
        assert_eq!(&start, b"a: ");
        for _ in 0..2 {
            let mut text = String::new();
            let mut reader = input.reader_of(&mut source);
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, "a: 1\nb: 2\n");
            // It does not begin again by itself: `-f - -f -`.
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, "a: 1\nb: 2\n");
        }
    }
}
