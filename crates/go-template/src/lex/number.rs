//! Numbers, as leniently as Go's lexer scans them.

use super::super::print;
use super::bytes::is_alphanumeric;
use super::{Lexer, Token, TokenKind};

impl Lexer<'_> {
    pub(super) fn number(&mut self) -> Token {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.peek(), Some(b'+' | b'-')) {
            if !self.scan_number() || !self.written().ends_with('i') {
                return self.bad_number();
            }
            return self.emit(TokenKind::Complex);
        }
        self.emit(TokenKind::Number)
    }

    fn bad_number(&mut self) -> Token {
        let message = format!("bad number syntax: {}", print::quote(self.written()));
        self.error(message)
    }

    /// Lenient: invalid numbers are detected when they are parsed.
    fn scan_number(&mut self) -> bool {
        self.accept(b"+-");
        let mut digits: &[u8] = b"0123456789_";
        let (mut exponent, mut binary_exponent) = (true, false);
        if self.accept(b"0") {
            if self.accept(b"xX") {
                digits = b"0123456789abcdefABCDEF_";
                (exponent, binary_exponent) = (false, true);
            } else if self.accept(b"oO") {
                digits = b"01234567_";
                exponent = false;
            } else if self.accept(b"bB") {
                digits = b"01_";
                exponent = false;
            }
        }
        while self.accept(digits) {}
        if self.accept(b".") {
            while self.accept(digits) {}
        }
        if exponent && self.accept(b"eE") || binary_exponent && self.accept(b"pP") {
            self.accept(b"+-");
            while self.accept(b"0123456789_") {}
        }
        self.accept(b"i");
        match self.peek_char().filter(|next| is_alphanumeric(*next)) {
            Some(next) => {
                self.position += next.len_utf8();
                false
            }
            None => true,
        }
    }

    fn accept(&mut self, set: &[u8]) -> bool {
        let accepted = self.peek().is_some_and(|next| set.contains(&next));
        if accepted {
            self.position += 1;
        }
        accepted
    }
}
