//! A hand-written HTTP/1.1 server: a closure from request to response, and all requests are recorded. For registries
//! that are inconsistent, fail or hang, and as a proxy of a real one.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A received request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method, in upper case.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// A response with a body.
#[derive(Debug, Clone, Default)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// All headers except Content-Length, which is set from the body unless given here.
    pub headers: Vec<(String, String)>,
    /// The body, omitted for HEAD.
    pub body: Vec<u8>,
}

/// What to do with a request.
pub enum Answer {
    /// Answer it and keep the connection.
    Reply(Response),
    /// Do anything with the connection, then close it. The request has been read.
    Raw(Box<dyn FnOnce(&mut TcpStream) + Send>),
}

type Handler = dyn Fn(&Request) -> Answer + Send + Sync;

/// A running server; stops listening when dropped.
pub struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
    stopped: Arc<AtomicBool>,
}

impl Request {
    /// A header's value; the name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The path without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or("")
    }
}

impl Response {
    /// A status and nothing else.
    pub fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// With a body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Self::Reply(response)
    }
}

impl Answer {
    /// Closes the connection without a response.
    pub fn close() -> Self {
        Self::Raw(Box::new(|_| {}))
    }

    /// Sends these bytes, then closes.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::Raw(Box::new(move |stream| {
            let _ = stream.write_all(&bytes);
        }))
    }

    /// Sends nothing until the other side closes the connection.
    pub fn hang() -> Self {
        Self::Raw(Box::new(|stream| {
            let _ = io::copy(stream, &mut io::sink());
        }))
    }
}

impl Server {
    /// Starts one on a free loopback port. The handler runs in one thread per connection.
    pub fn start(handler: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stopped = Arc::new(AtomicBool::new(false));
        let handler: Arc<Handler> = Arc::new(handler);
        let (kept, stop) = (Arc::clone(&seen), Arc::clone(&stopped));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (handler, kept) = (Arc::clone(&handler), Arc::clone(&kept));
                std::thread::spawn(move || {
                    // The other side may close the connection at any time, which is not an error.
                    let _ = serve(stream, &*handler, &kept);
                });
            }
        });
        Self {
            address,
            seen,
            stopped,
        }
    }

    /// `127.0.0.1:port`
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// `METHOD path` of every request so far.
    pub fn lines(&self) -> Vec<String> {
        let requests = self.requests();
        requests
            .iter()
            .map(|request| format!("{} {}", request.method, request.path()))
            .collect()
    }

    /// How many requests had this method.
    pub fn count(&self, method: &str) -> usize {
        self.requests()
            .iter()
            .filter(|request| request.method == method)
            .count()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({})", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: TcpStream, handler: &Handler, seen: &Mutex<Vec<Request>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut output = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    while let Some(request) = read_request(&mut input)? {
        seen.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(request.clone());
        match handler(&request) {
            Answer::Reply(response) => write_response(&mut output, &request, &response)?,
            Answer::Raw(act) => {
                act(&mut output);
                return output.shutdown(std::net::Shutdown::Both);
            }
        }
    }
    Ok(())
}

fn read_request(input: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(io::Error::other("not a request"));
    };
    let (method, target) = (method.to_owned(), target.to_owned());
    let headers = read_headers(input)?;
    let find = |name: &str| {
        let found = headers
            .iter()
            .find(|(known, _): &&(String, String)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    let body = if find("transfer-encoding").is_some() {
        read_chunks(input)?
    } else {
        let length = find("content-length")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let mut body = vec![0; length];
        input.read_exact(&mut body)?;
        body
    };
    Ok(Some(Request {
        method,
        target,
        headers,
        body,
    }))
}

fn read_headers(input: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
            None => return Ok(headers),
        }
    }
}

fn read_chunks(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        let mut chunk = vec![0; size + 2];
        input.read_exact(&mut chunk)?;
        body.extend_from_slice(&chunk[..size]);
        if size == 0 {
            return Ok(body);
        }
    }
}

fn write_response(output: &mut impl Write, request: &Request, response: &Response) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Testbed\r\n", response.status);
    let mut sized = false;
    for (name, value) in &response.headers {
        sized |= name.eq_ignore_ascii_case("content-length");
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !sized {
        head.push_str(&format!("Content-Length: {}\r\n", response.body.len()));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    if request.method != "HEAD" {
        bytes.extend_from_slice(&response.body);
    }
    output.write_all(&bytes)?;
    output.flush()
}

/// Forwards a request to a real server (`host:port`, plain HTTP) and returns its response.
pub fn forward(request: &Request, upstream: &str) -> Response {
    let exchange = || -> io::Result<Response> {
        let mut stream = TcpStream::connect(upstream)?;
        let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
        for (name, value) in &request.headers {
            if !matches!(
                name.as_str(),
                "connection" | "transfer-encoding" | "content-length"
            ) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        head.push_str(&format!(
            "connection: close\r\ncontent-length: {}\r\n\r\n",
            request.body.len()
        ));
        stream.write_all(head.as_bytes())?;
        stream.write_all(&request.body)?;
        let mut input = BufReader::new(stream);
        let mut line = String::new();
        input.read_line(&mut line)?;
        let status = line.split_whitespace().nth(1).and_then(|text| text.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no answer: {line:?}")))?;
        let mut headers = read_headers(&mut input)?;
        let chunked = headers.iter().any(|(name, _)| name == "transfer-encoding");
        let mut body = Vec::new();
        if request.method != "HEAD" {
            if chunked {
                body = read_chunks(&mut input)?;
            } else {
                input.read_to_end(&mut body)?;
            }
        }
        headers.retain(|(name, _)| !matches!(name.as_str(), "transfer-encoding" | "connection"));
        Ok(Response {
            status,
            headers,
            body,
        })
    };
    exchange().unwrap_or_else(|error| Response::status(502).body(format!("upstream: {error}")))
}
