//! URLs as in Go 1.26's `net/url`: parsing and formatting.

use crate::gotext::quote::quote;

/// The parts of a URL, unescaped where Go unescapes them.
#[derive(Debug, Default)]
pub(super) struct Url {
    pub(super) scheme: Vec<u8>,
    pub(super) opaque: Vec<u8>,
    pub(super) user: Option<UserInfo>,
    pub(super) host: Vec<u8>,
    pub(super) path: Vec<u8>,
    pub(super) query: Vec<u8>,
    pub(super) fragment: Vec<u8>,
}

/// The user information before the `@`.
#[derive(Debug)]
pub(super) struct UserInfo {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

/// The component of a URL, which decides which bytes must be escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UrlComponent {
    Path,
    Host,
    Zone,
    User,
    Fragment,
}

impl UrlComponent {
    /// Whether the byte is kept unescaped.
    fn keeps(self, byte: u8) -> bool {
        let marks: &[u8] = match self {
            Self::Path => b"$&+,/:;=@",
            Self::Host | Self::Zone => b"!\"$&'()*+,:;<=>[]",
            Self::User => b"$&+,;=",
            Self::Fragment => b"!$&()*+,/:;=?@",
        };
        byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || marks.contains(&byte)
    }

    /// Hosts only escape bytes that are not ASCII; zones also those that a host may not contain.
    fn takes_escape(self, escape: &[u8], byte: u8) -> bool {
        match self {
            Self::Host => byte >= 0x80 || escape == b"%25",
            Self::Zone => escape == b"%25" || byte == b' ' || Self::Host.keeps(byte),
            _ => true,
        }
    }
}

fn unescape(text: &[u8], place: UrlComponent) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        if *first == b'%' {
            let escape = rest.get(..3).unwrap_or(rest);
            let byte = match escape {
                [_, high, low] => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
                _ => None,
            };
            let byte = byte.filter(|byte| place.takes_escape(escape, *byte));
            out.push(byte.ok_or_else(|| format!("invalid URL escape {}", quote(escape)))?);
            rest = rest.get(3..).unwrap_or_default();
            continue;
        }
        if matches!(place, UrlComponent::Host | UrlComponent::Zone)
            && first.is_ascii()
            && !place.keeps(*first)
        {
            return Err(format!("invalid character {} in host name", quote(&[*first])));
        }
        out.push(*first);
        rest = behind;
    }
    Ok(out)
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

fn escape(text: &[u8], place: UrlComponent, out: &mut Vec<u8>) {
    for byte in text {
        if place.keeps(*byte) {
            out.push(*byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
}

fn split_once(text: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|byte| *byte == mark)?;
    Some((text.get(..place)?, text.get(place + 1..)?))
}

fn rsplit_once(text: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().rposition(|byte| *byte == mark)?;
    Some((text.get(..place)?, text.get(place + 1..)?))
}

impl UserInfo {
    /// Escaped, as in Go's `String`.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        escape(&self.name, UrlComponent::User, &mut out);
        if let Some(password) = &self.password {
            out.push(b':');
            escape(password, UrlComponent::User, &mut out);
        }
        out
    }

    fn parse(text: &[u8]) -> Result<Self, String> {
        let valid = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
        if !text.iter().all(valid) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        let (name, password) = match split_once(text, b':') {
            Some((name, password)) => (name, Some(password)),
            None => (text, None),
        };
        Ok(Self {
            name: unescape(name, UrlComponent::User)?,
            password: password
                .map(|text| unescape(text, UrlComponent::User))
                .transpose()?,
        })
    }
}

impl Url {
    /// Parses a URL; the error is Go's message.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let (front, fragment) = split_once(text, b'#').unwrap_or((text, b""));
        let failed = |text: &[u8], error: String| format!("parse {}: {error}", quote(text));
        let mut url = Self::parse_front(front).map_err(|error| failed(front, error))?;
        url.fragment = unescape(fragment, UrlComponent::Fragment).map_err(|error| failed(text, error))?;
        Ok(url)
    }

    fn parse_front(text: &[u8]) -> Result<Self, String> {
        if text.iter().any(|byte| *byte < b' ' || *byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let mut url = Self::default();
        if text == b"*" {
            url.path = text.to_vec();
            return Ok(url);
        }
        let (scheme, rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (rest, query) = split_once(rest, b'?').unwrap_or((rest, b""));
        url.query = query.to_vec();
        if !rest.starts_with(b"/") {
            if !scheme.is_empty() {
                url.opaque = rest.to_vec();
                return Ok(url);
            }
            let first = split_once(rest, b'/').map_or(rest, |(first, _)| first);
            if first.contains(&b':') {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let mut path = rest;
        if let Some(authority) = rest.strip_prefix(b"//")
            && (!scheme.is_empty() || !authority.starts_with(b"/"))
        {
            let end = authority
                .iter()
                .position(|byte| *byte == b'/')
                .unwrap_or(authority.len());
            let (authority, behind) = authority.split_at_checked(end).unwrap_or((authority, b""));
            url.read_authority(authority)?;
            path = behind;
        }
        url.path = unescape(path, UrlComponent::Path)?;
        Ok(url)
    }

    fn read_authority(&mut self, text: &[u8]) -> Result<(), String> {
        let (user, host) = match rsplit_once(text, b'@') {
            Some((user, host)) => (Some(user), host),
            None => (None, text),
        };
        self.host = host_of(&self.scheme, host)?;
        self.user = user.map(UserInfo::parse).transpose()?;
        Ok(())
    }

    /// The host without its port and brackets.
    pub(super) fn hostname(&self) -> &[u8] {
        let host = match rsplit_once(&self.host, b':') {
            Some((host, port)) if port.iter().all(u8::is_ascii_digit) => host,
            _ => &self.host,
        };
        let inner = host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]"));
        inner.unwrap_or(host)
    }

    /// Written out, as in Go's `String`.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend_from_slice(&self.scheme);
            out.push(b':');
        }
        if self.opaque.is_empty() {
            self.push_hierarchy(&mut out);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if !self.query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            escape(&self.fragment, UrlComponent::Fragment, &mut out);
        }
        out
    }

    fn push_hierarchy(&self, out: &mut Vec<u8>) {
        let named = !self.host.is_empty() || self.user.is_some();
        if named || !self.scheme.is_empty() && !self.path.is_empty() {
            out.extend_from_slice(b"//");
        }
        if let Some(user) = &self.user {
            out.extend_from_slice(&user.to_bytes());
            out.push(b'@');
        }
        escape(&self.host, UrlComponent::Host, out);
        let mut path = Vec::new();
        if self.path == b"*" {
            path.push(b'*');
        } else {
            escape(&self.path, UrlComponent::Path, &mut path);
        }
        if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
            out.push(b'/');
        }
        if out.is_empty() {
            // A colon in the first segment would make it a scheme.
            let first = split_once(&path, b'/').map_or(path.as_slice(), |(first, _)| first);
            if first.contains(&b':') {
                out.extend_from_slice(b"./");
            }
        }
        out.extend_from_slice(&path);
    }
}

fn split_scheme(text: &[u8]) -> Result<(&[u8], &[u8]), String> {
    let letter = |byte: &u8| byte.is_ascii_alphabetic();
    let end = text
        .iter()
        .position(|byte| !letter(byte) && !byte.is_ascii_digit() && !b"+-.".contains(byte));
    match end.and_then(|end| Some((end, text.get(end)?))) {
        Some((0, b':')) => Err("missing protocol scheme".to_owned()),
        Some((end, b':')) if text.first().is_some_and(letter) => Ok((
            text.get(..end).unwrap_or_default(),
            text.get(end + 1..).unwrap_or_default(),
        )),
        _ => Ok((b"", text)),
    }
}

fn host_of(scheme: &[u8], text: &[u8]) -> Result<Vec<u8>, String> {
    match text.iter().rposition(|byte| *byte == b'[') {
        Some(0) => return ip_literal(text),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    let mut colons = text.iter().enumerate().filter(|(_, byte)| **byte == b':');
    let first = colons.next();
    let colon = match (colons.next_back(), scheme) {
        (Some(_), b"http" | b"https") | (None, _) => first,
        (last, _) => last,
    };
    if let Some((place, _)) = colon {
        check_port(text.get(place..).unwrap_or_default())?;
    }
    unescape(text, UrlComponent::Host)
}

fn check_port(text: &[u8]) -> Result<(), String> {
    match text.split_first() {
        None => Ok(()),
        Some((b':', digits)) if digits.iter().all(u8::is_ascii_digit) => Ok(()),
        Some(_) => Err(format!("invalid port {} after host", quote(text))),
    }
}

/// `[::1%25eth0]:80`
fn ip_literal(text: &[u8]) -> Result<Vec<u8>, String> {
    let Some((inner, port)) = rsplit_once(text, b']') else {
        return Err("missing ']' in host".to_owned());
    };
    check_port(port)?;
    let inner = inner.get(1..).unwrap_or_default();
    let zone = inner.windows(3).position(|window| window == b"%25");
    let (address, zone) = inner
        .split_at_checked(zone.unwrap_or(inner.len()))
        .unwrap_or((inner, b""));
    let mut name = unescape(address, UrlComponent::Host)?;
    name.extend(unescape(zone, UrlComponent::Zone)?);
    check_address(&name)?;
    Ok([b"[", name.as_slice(), b"]", port].concat())
}

fn check_address(name: &[u8]) -> Result<(), String> {
    let failed = |why: &str| Err(format!("invalid host: ParseAddr({}): {why}", quote(name)));
    let text = String::from_utf8_lossy(name);
    match text
        .find(['.', ':', '%'])
        .and_then(|place| text.get(place..=place))
    {
        Some(":") => {}
        Some("%") => return failed("missing IPv6 address"),
        Some(_) if text.parse::<std::net::Ipv4Addr>().is_ok() => return Err("invalid IP-literal".to_owned()),
        _ => return failed("unable to parse IP"),
    }
    let (address, zone) = text.split_once('%').unwrap_or((&text, "-"));
    if zone.is_empty() {
        return failed("zone must be a non-empty string");
    }
    match address.parse::<std::net::Ipv6Addr>() {
        Ok(_) => Ok(()),
        Err(_) => failed("unable to parse IP"),
    }
}
