//! Request bodies from blobs: small ones as they are, larger ones in chunks, streams from a thread of their own. Each
//! reports its progress.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::oci::client::http::Body;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use http_body_util::{BodyExt as _, Either, Full, StreamBody};
use hyper::body::Frame;
use tokio::sync::mpsc;

use crate::package::artifact::{ArtifactBlob, BlobContent, BlobSource};

/// The chunk size, in bytes.
const PIECE: usize = 64 << 10;
/// How many chunks a stream's thread may be ahead.
const AHEAD: usize = 4;

/// A body that is being sent.
pub(in crate::oci) struct Upload {
    /// The body for hyper.
    pub(in crate::oci) body: Body,
    /// The size in bytes.
    pub(in crate::oci) size: u64,
    /// The number of bytes handed to the connection.
    pub(in crate::oci) sent: Arc<AtomicU64>,
    /// The error of the local source, if it failed.
    pub(in crate::oci) fault: Arc<Mutex<Option<io::Error>>>,
}

impl Upload {
    /// A body that is short and held in memory.
    pub(in crate::oci) fn short(bytes: Bytes) -> Self {
        Self {
            size: bytes.len() as u64,
            body: Either::Left(Full::new(bytes)),
            sent: Arc::default(),
            fault: Arc::default(),
        }
    }

    /// The blob's bytes.
    pub(in crate::oci) fn of(blob: &ArtifactBlob) -> Self {
        match &blob.content {
            BlobContent::Memory(bytes) if bytes.len() <= PIECE => {
                Self::short(Bytes::from_owner(Arc::clone(bytes)))
            }
            BlobContent::Memory(bytes) => Self::in_pieces(Bytes::from_owner(Arc::clone(bytes))),
            BlobContent::Stream(source) => Self::streamed(Arc::clone(source), blob.size),
        }
    }

    /// The error of the local source.
    pub(in crate::oci) fn take_fault(fault: &Mutex<Option<io::Error>>) -> Option<io::Error> {
        fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn in_pieces(bytes: Bytes) -> Self {
        let size = bytes.len() as u64;
        let sent = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&sent);
        let pieces = stream::unfold(bytes, move |mut rest| {
            let piece = rest.split_to(rest.len().min(PIECE));
            counter.fetch_add(piece.len() as u64, Ordering::Relaxed);
            let next = (!piece.is_empty()).then_some((Ok::<_, io::Error>(piece), rest));
            std::future::ready(next)
        });
        Self {
            body: of_pieces(pieces),
            size,
            sent,
            fault: Arc::default(),
        }
    }

    fn streamed(source: Arc<dyn BlobSource>, size: u64) -> Self {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let sent = Arc::new(AtomicU64::new(0));
        let fault = Arc::new(Mutex::new(None));
        let theirs = Arc::clone(&fault);
        // Not joined: it ends when the receiver is dropped, at the latest.
        std::thread::spawn(move || {
            let mut writer = ChannelWriter {
                sender,
                buffer: Vec::with_capacity(PIECE),
                left: size,
                hung_up: false,
            };
            let result = source.write_to(&mut writer).and_then(|()| writer.finish());
            if let Err(error) = result {
                // A closed channel is a connection error, which is reported there.
                if !writer.hung_up {
                    *theirs.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
                let _ = writer
                    .sender
                    .blocking_send(Err(io::Error::other("the source failed")));
            }
        });
        let counter = Arc::clone(&sent);
        let pieces = stream::unfold(receiver, move |mut receiver| {
            let counter = Arc::clone(&counter);
            async move {
                let piece: Result<Bytes, io::Error> = receiver.recv().await?;
                if let Ok(bytes) = &piece {
                    counter.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                }
                Some((piece, receiver))
            }
        });
        Self {
            body: of_pieces(pieces),
            size,
            sent,
            fault,
        }
    }
}

fn of_pieces(pieces: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Body {
    Either::Right(StreamBody::new(pieces.map(|piece| piece.map(Frame::data))).boxed_unsync())
}

/// Splits the written bytes into chunks and sends them; refuses more or fewer bytes than announced.
struct ChannelWriter {
    sender: mpsc::Sender<Result<Bytes, io::Error>>,
    buffer: Vec<u8>,
    left: u64,
    /// The receiver was dropped: the rest is not sent.
    hung_up: bool,
}

impl ChannelWriter {
    fn send(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.buffer, Vec::with_capacity(PIECE));
        self.sender.blocking_send(Ok(Bytes::from(piece))).map_err(|_| {
            self.hung_up = true;
            io::Error::from(io::ErrorKind::BrokenPipe)
        })
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.left > 0 {
            return Err(changed());
        }
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.send()
    }
}

impl Write for ChannelWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE - self.buffer.len());
        self.left = self.left.checked_sub(taken as u64).ok_or_else(changed)?;
        self.buffer
            .extend_from_slice(bytes.get(..taken).unwrap_or_default());
        if self.buffer.len() >= PIECE {
            self.send()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn changed() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "its size has changed since its digest was computed",
    )
}
