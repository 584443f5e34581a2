//! A real Chromium without a window, driven by its DevTools protocol over a pipe: one JSON document after another, each
//! ended by a zero byte.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use testbed::Tool;

/// How long one answer may take; a page that never answers should fail the test, not hang it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    last: u64,
    _home: tempfile::TempDir,
}

impl Browser {
    /// Opens a page of this size.
    pub(crate) fn open(url: &str, width: u32, height: u32) -> Self {
        let home = tempfile::tempdir().unwrap();
        // The protocol's descriptors are 3 and 4. Root, as in containers, has no sandbox.
        let script = "exec \"$0\" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
                      --hide-scrollbars --user-data-dir=\"$1\" --remote-debugging-pipe about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(Tool::Chromium.path())
            .arg(home.path())
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut document = Vec::new();
            while output.read_until(0, &mut document).is_ok_and(|read| read > 0) {
                document.pop();
                if sender.send(serde_json::from_slice(&document).unwrap()).is_err() {
                    return;
                }
                document.clear();
            }
        });
        let mut browser = Self {
            child,
            commands,
            answers,
            session: None,
            last: 0,
            _home: home,
        };
        let page = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": page["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", target);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        browser.call("Page.enable", json!({}));
        browser.size(width, height);
        browser.call("Page.navigate", json!({"url": url}));
        browser.wait_for(&["done", "failed"]);
        browser
    }

    /// Calls a method of the protocol.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut command = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).unwrap();
        loop {
            let answer = self.answers.recv_timeout(PATIENCE);
            let answer = answer.unwrap_or_else(|error| panic!("{method}: {error}"));
            // Others are events.
            if answer["id"] == json!(self.last) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// The value of an expression in the page; of a promise, what it resolves to.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        // The page that is being left has no answer.
        let result = self.call("Runtime.evaluate", params);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until the page is in one of these states, and returns it.
    pub(crate) fn wait_for(&mut self, states: &[&str]) -> String {
        let expression = format!(
            "new Promise((resolve) => {{
                const check = () => {{
                    const state = document.body?.dataset.state;
                    if ({}.includes(state)) resolve(state);
                    else if (document.body) {{
                        const observer = new MutationObserver(() => {{ observer.disconnect(); check(); }});
                        observer.observe(document.body, {{ attributes: true }});
                    }} else document.addEventListener('DOMContentLoaded', check);
                }};
                check();
            }})",
            json!(states)
        );
        self.evaluate(&expression).as_str().unwrap().to_owned()
    }

    /// The text of an element.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let text = self.evaluate(&format!(
            "document.querySelector({}).textContent",
            json!(selector)
        ));
        text.as_str().unwrap().to_owned()
    }

    /// Types a text where the focus is.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Presses a key: its name, and its code on Windows, as the protocol takes it.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let mut params = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            if kind == "keyDown" && !text.is_empty() {
                params["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", params);
        }
    }

    /// Gives files to an input.
    pub(crate) fn choose(&mut self, selector: &str, files: &[&str]) {
        let document = self.call("DOM.getDocument", json!({}));
        let query = json!({"nodeId": document["root"]["nodeId"], "selector": selector});
        let node = self.call("DOM.querySelector", query);
        self.call(
            "DOM.setFileInputFiles",
            json!({"nodeId": node["nodeId"], "files": files}),
        );
    }

    /// Sets the size of the window.
    pub(crate) fn size(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Chooses light or dark.
    pub(crate) fn scheme(&mut self, name: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": name}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// A picture of the page as PNG, in base64.
    pub(crate) fn picture(&mut self) -> String {
        let picture = self.call(
            "Page.captureScreenshot",
            json!({"format": "png", "captureBeyondViewport": false}),
        );
        picture["data"].as_str().unwrap().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
