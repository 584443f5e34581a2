//! The files of a folder to which other users may have had access: what they left there leads to no file elsewhere.
//!
//! In: paths. Out: open files that are regular and have one name. Symbolic and hard links, pipes and folders with the
//! name of such a file are removed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// The mode of the folder: what a user may read in a registry, others may not.
const FOLDER_MODE: u32 = 0o700;

/// Makes a folder that is only the user's. One that is there keeps its mode: Kubernetes changes it for `fsGroup`.
///
/// # Errors
/// A link, or anything else that is no folder.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(FOLDER_MODE).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match fs::symlink_metadata(path)?.is_dir() {
                true => Ok(()),
                false => Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder")),
            }
        }
        made => made,
    }
}

/// Opens a file with these options. What is there and is no regular file with one name is removed before.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(found) if !is_own(&found) => remove(path)?,
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // Should it have become a link or a pipe meanwhile, this neither follows it nor waits.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    match is_own(&file.metadata()?) {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file, or has other names")),
    }
}

/// Removes a file, a link or a whole folder.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

fn is_own(found: &fs::Metadata) -> bool {
    found.is_file() && found.nlink() <= 1
}
