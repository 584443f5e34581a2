//! Writes POSIX ustar: regular files with fixed owner, mode and time.
//!
//! Every header field but name, size and time is constant. A name that ustar can't hold
//! (over 100 bytes and not splittable at a `/` into 155 + 100, or not ASCII) gets a pax `path` record (POSIX.1-2001),
//! which Go's, Helm's and GNU's readers support.
//!
//! The `tar` crate, which reads archives here, formats the checksum field differently from Go: its headers would change
//! every digest.

use std::io::{self, Write};

/// The unit of a tar archive, in bytes.
pub const RECORD: usize = 512;

const NAME: usize = 100;
const PREFIX: usize = 155;

/// Writes a header, with as many records as it needs.
///
/// `mtime` is in seconds since 1970, `size` in bytes (ustar's limit of 8 GiB is far above ours).
pub fn write_header(out: &mut dyn Write, path: &str, size: u64, mtime: u64) -> io::Result<()> {
    if let Some((prefix, name)) = split(path) {
        return out.write_all(&header(prefix, name, size, mtime, b'0')?);
    }
    let record = pax_record("path", path);
    // Only readers without pax support use the fallback name.
    out.write_all(&header(
        "",
        "PaxHeaders.0/path",
        record.len() as u64,
        mtime,
        b'x',
    )?)?;
    out.write_all(record.as_bytes())?;
    write_padding(out, record.len() as u64)?;
    let name: String = path.chars().filter(char::is_ascii).collect();
    let cut = name.get(name.len().saturating_sub(NAME)..).unwrap_or("");
    out.write_all(&header("", cut, size, mtime, b'0')?)
}

/// Writes zeros up to the next record.
pub fn write_padding(out: &mut dyn Write, size: u64) -> io::Result<()> {
    let over = usize::try_from(size % RECORD as u64).map_err(io::Error::other)?;
    if over == 0 {
        Ok(())
    } else {
        out.write_all([0; RECORD].get(over..).unwrap_or_default())
    }
}

/// Writes the end of an archive: two empty records.
pub fn write_end(out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&[0; 2 * RECORD])
}

/// Prefix and name, if ustar can hold the path.
fn split(path: &str) -> Option<(&str, &str)> {
    if !path.is_ascii() {
        return None;
    }
    if path.len() <= NAME {
        return Some(("", path));
    }
    // The longest prefix leaves the shortest name; any split that fits reads the same.
    path.char_indices()
        .filter(|&(index, character)| character == '/' && index <= PREFIX)
        .filter_map(|(index, _)| Some((path.get(..index)?, path.get(index + 1..)?)))
        .find(|(prefix, name)| !prefix.is_empty() && !name.is_empty() && name.len() <= NAME)
}

/// `LENGTH key=value\n`, where the length counts itself.
fn pax_record(key: &str, value: &str) -> String {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while rest + length.to_string().len() != length {
        length = rest + length.to_string().len();
    }
    format!("{length} {key}={value}\n")
}

fn header(prefix: &str, name: &str, size: u64, mtime: u64, kind: u8) -> io::Result<[u8; RECORD]> {
    let mut header = [0; RECORD];
    let mut put = |offset: usize, bytes: &[u8]| {
        if let Some(field) = header.get_mut(offset..offset + bytes.len()) {
            field.copy_from_slice(bytes);
        }
    };
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, octal(size)?.as_bytes());
    put(136, octal(mtime)?.as_bytes());
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(329, b"0000000\0");
    put(337, b"0000000\0");
    put(345, prefix.as_bytes());
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    if let Some(field) = header.get_mut(148..156) {
        field.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    Ok(header)
}

fn octal(value: u64) -> io::Result<String> {
    let text = format!("{value:011o}\0");
    if text.len() == 12 {
        Ok(text)
    } else {
        Err(io::Error::other(
            "a file of 8 GiB or more does not fit a tar archive",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header_is_plain_ustar_when_it_fits() {
        let mut out = Vec::new();
        write_header(&mut out, "c/Chart.yaml", 5, 315_532_800).unwrap();
        assert_eq!(out.len(), RECORD);
        assert_eq!(&out[..13], b"c/Chart.yaml\0");
        assert_eq!(&out[124..136], b"00000000005\0");
        assert_eq!(&out[136..148], b"02263523000\0");
        assert_eq!(&out[257..265], b"ustar\x0000");
        let long = format!("{}/{}", "d".repeat(150), "f".repeat(99));
        out.clear();
        write_header(&mut out, &long, 5, 0).unwrap();
        assert_eq!(out.len(), RECORD, "prefix and name hold it");
    }

    #[test]
    fn a_pax_length_counts_itself() {
        for length in 0..2000 {
            let record = pax_record("path", &"x".repeat(length));
            let (count, _) = record.split_once(' ').unwrap();
            assert_eq!(count.parse::<usize>().unwrap(), record.len());
        }
    }

    #[test]
    fn a_size_beyond_ustar_is_an_error() {
        assert!(write_header(&mut Vec::new(), "x", 1 << 33, 0).is_err());
    }

    proptest! {
        #[test]
        fn the_tar_crate_reads_every_name_back(
            paths in proptest::collection::btree_set("[a-zé./ _-]{0,20}[a-z]/[a-zA-Z0-9é_.-]{1,160}[a-z]", 1..6),
        ) {
            let mut bytes = Vec::new();
            for path in &paths {
                write_header(&mut bytes, path, path.len() as u64, 1).unwrap();
                bytes.extend_from_slice(path.as_bytes());
                write_padding(&mut bytes, path.len() as u64).unwrap();
            }
            write_end(&mut bytes).unwrap();
            let mut archive = ::tar::Archive::new(bytes.as_slice());
            let mut seen = Vec::new();
            for entry in archive.entries().unwrap() {
                let mut entry = entry.unwrap();
                let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
                let mut body = String::new();
                std::io::Read::read_to_string(&mut entry, &mut body).unwrap();
                prop_assert_eq!(&body, &name);
                seen.push(name);
            }
            prop_assert_eq!(seen, paths.into_iter().collect::<Vec<_>>());
        }
    }
}
