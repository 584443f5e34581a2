// Runs the module: a request in, a response out. The page ends this worker when it takes too long, and after a trap.
"use strict";

let module = null;
let memory = () => new Uint8Array(module.memory.buffer);

// getrandom fills at most this many bytes at once.
const MOST_RANDOM = 65536;

const imports = {
  page: {
    random(at, length) {
      for (let done = 0; done < length; done += MOST_RANDOM) {
        crypto.getRandomValues(memory().subarray(at + done, at + Math.min(length, done + MOST_RANDOM)));
      }
    },
  },
};

function text() {
  const at = module.output_at() >>> 0;
  return new TextDecoder().decode(memory().slice(at, at + (module.output() >>> 0)));
}

function respond(request) {
  const bytes = new TextEncoder().encode(request);
  const at = module.input(bytes.length) >>> 0;
  memory().set(bytes, at);
  module.run();
  return text();
}

onmessage = async ({ data }) => {
  if (data.compiled) {
    module = (await WebAssembly.instantiate(data.compiled, imports)).exports;
    postMessage({ ready: true });
    return;
  }
  try {
    postMessage({ id: data.id, response: respond(data.request) });
  } catch (error) {
    // The browser's stack is smaller than the one that the engine counts on.
    const deep = error instanceof RangeError;
    const reason = deep ? "the templates nest more deeply than this browser's stack" : text() || `internal error: ${error}`;
    postMessage({ id: data.id, broken: reason });
  }
};
