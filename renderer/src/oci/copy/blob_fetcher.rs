//! Fetches the bytes of blobs that an artifact does not hold itself from the source of the copy, when they are needed.

use std::fs;
use std::io::{self, Write};
use std::sync::Arc;

use crate::oci::client::image::Descriptor;
use crate::oci::failure::Failure;
use crate::oci::pull::chart_source::ChartSource;
use crate::package::MEMORY_LIMIT;
use crate::package::artifact::{ArtifactBlob, BlobContent, BlobSource, FileSource};
use crate::reference::Repository;

/// The source of blobs that an artifact does not hold itself.
pub(in crate::oci) struct BlobFetcher<'a> {
    pub(in crate::oci) origin: &'a ChartSource<'a>,
    /// A repository of the destination's registry that has them, for mounting.
    pub(in crate::oci) mount: Option<&'a Repository>,
}

impl BlobFetcher<'_> {
    /// The blob with its bytes, with size and digest checked: in memory if it is small, else on disk.
    pub(in crate::oci) async fn fetch(&self, blob: &ArtifactBlob) -> Result<ArtifactBlob, Failure> {
        let wanted = Descriptor {
            media_type: blob.media_type.to_owned(),
            digest: blob.digest.clone(),
            size: blob.size,
        };
        let content = if blob.size <= MEMORY_LIMIT {
            let bytes = self.origin.blob(&wanted, || Ok(Vec::new())).await?;
            BlobContent::Memory(Arc::from(bytes))
        } else if let Some(path) = self.origin.cached_file(&wanted).await? {
            BlobContent::Stream(Arc::new(FileSource { path }))
        } else {
            let file = self.origin.blob(&wanted, tempfile::NamedTempFile::new).await?;
            BlobContent::Stream(Arc::new(Spooled { file }))
        };
        Ok(ArtifactBlob {
            content,
            ..blob.clone()
        })
    }
}

/// A blob in a temporary file, which is deleted on drop.
struct Spooled {
    file: tempfile::NamedTempFile,
}

impl BlobSource for Spooled {
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        io::copy(&mut fs::File::open(self.file.path())?, out).map(|_| ())
    }
}
