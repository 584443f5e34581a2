//! [`Secret`]: text that never shows itself.

use std::fmt;

use zeroize::Zeroizing;

/// A password or a token. `Debug` and `Display` print `***`, there is no `Serialize`, and its memory is zeroed when
/// it goes.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes the text in.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A text in which what stands between `://` and an `@` before the path is hidden: users write passwords there, and
/// messages quote what users wrote.
pub fn without_credentials(text: &str) -> String {
    let mut pieces = text.split("://");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let host_end = piece.find(['/', '\'', ' ', '\n']).unwrap_or(piece.len());
        let secret = piece.get(..host_end).and_then(|host| host.rfind('@'));
        out.push_str("://");
        out.push_str(if secret.is_some() { "***" } else { "" });
        out.push_str(piece.get(secret.unwrap_or(0)..).unwrap_or_default());
    }
    out
}
