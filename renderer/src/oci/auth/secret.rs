//! Hides passwords in text that users wrote.

/// Hides the part between `://` and an `@` before the path: users write passwords there, and messages quote users'
/// text.
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
