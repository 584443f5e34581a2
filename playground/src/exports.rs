//! The module's side of `docs/playground/worker.js`.
//!
//! The worker asks for room for a text ([`input`]), writes UTF-8 there, calls [`run`], and reads [`output`] bytes at
//! [`output_at`]. One text at a time; the module has one thread.
#![allow(
    unsafe_code,
    reason = "an export's name must be unique in the module, which only we can promise; and getrandom's hook has a pointer"
)]

use std::cell::RefCell;

use solar_render::values::schema::TooManySteps;

thread_local! {
    /// The request, and then the response.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Fills memory with the page's random bytes.
    fn random(at: *mut u8, length: usize);
}

/// Makes room for a request of this many bytes, and returns where it is.
#[unsafe(no_mangle)]
extern "C" fn input(length: usize) -> *const u8 {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        text.resize(length, 0);
        text.as_ptr()
    })
}

/// Answers the request, and returns the length of the response.
#[unsafe(no_mangle)]
extern "C" fn run() -> usize {
    // Its memory is free for the work.
    let request = TEXT.take();
    std::panic::set_hook(Box::new(|panic| {
        let message = match panic.payload().downcast_ref::<TooManySteps>() {
            Some(limit) => limit.to_string(),
            None => format!("internal error: {panic}"),
        };
        TEXT.with_borrow_mut(|text| *text = message.into_bytes());
    }));
    let response = crate::respond(&String::from_utf8_lossy(&request));
    TEXT.replace(response.into_bytes());
    output()
}

/// The length of the response; after a trap, of the panic's message.
#[unsafe(no_mangle)]
extern "C" fn output() -> usize {
    TEXT.with_borrow(Vec::len)
}

/// Where the response is.
#[unsafe(no_mangle)]
extern "C" fn output_at() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}

/// getrandom's hook for targets that it doesn't know, chosen by `getrandom_backend="custom"`.
///
/// # Safety
/// As getrandom promises, `length` bytes at `at` may be written.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(at: *mut u8, length: usize) -> Result<(), getrandom::Error> {
    // Safety: the caller's promise; the worker writes these bytes and no others.
    unsafe { random(at, length) };
    Ok(())
}
