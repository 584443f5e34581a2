// The page: files and settings in, what the worker responds out. Nothing is stored, and after loading nothing is
// requested.
"use strict";

/** How long a rendering may take, in milliseconds, before it is stopped. */
const TIME_LIMIT = 5000;
/** The pause after a key before the chart is rendered. */
const PAUSE = 120;
/** More of the output than this is not shown: a browser lays out text slowly. */
const MOST_SHOWN = 1 << 20;
/** The largest file that is taken, in bytes. */
const LARGEST_FILE = 20 << 20;
/** The name of the user's values, as in the module's messages. */
const VALUES = "values given";

const EXAMPLE = [
  ["Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\nappVersion: \"2.1\"\n"],
  ["values.yaml", "replicas: 2\nimage:\n  repository: ghcr.io/acme/shop\n  tag: \"\"\nservice:\n  port: 8080\n"],
  [
    "templates/_helpers.tpl",
    '{{- define "shop.labels" -}}\napp.kubernetes.io/name: {{ .Chart.Name }}\napp.kubernetes.io/instance: {{ .Release.Name }}\n{{- end }}\n',
  ],
  [
    "templates/deployment.yaml",
    `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels:
    {{- include "shop.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels:
      {{- include "shop.labels" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "shop.labels" . | nindent 8 }}
    spec:
      containers:
        - name: shop
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
          ports:
            - containerPort: {{ .Values.service.port }}
`,
  ],
  [
    "templates/service.yaml",
    `apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  selector:
    {{- include "shop.labels" . | nindent 4 }}
  ports:
    - port: 80
      targetPort: {{ .Values.service.port }}
`,
  ],
];

const byId = (id) => document.getElementById(id);
const source = byId("source");

/** Path → { text } or { bytes } (base64). */
let files = new Map(EXAMPLE.map(([path, text]) => [path, { text }]));
let values = "replicas: 3\n";
let open = "templates/deployment.yaml";
let diagnostics = [];
let output = "";

// ---- the worker -----------------------------------------------------------------------------------------------------

let compiled = null;
let workerUrl = "";
let worker = null;
let running = null;
let queued = null;
let lastId = 0;

/** Loads what the page needs, and then forbids every further request, the worker's too: it inherits the policy. */
async function load() {
  const [script, module] = await Promise.all([
    fetch("worker.js").then((response) => response.text()),
    fetch("solar_playground.wasm").then((response) => {
      if (!response.ok) throw new Error(`solar_playground.wasm: ${response.status}`);
      return response.arrayBuffer();
    }),
  ]);
  compiled = await WebAssembly.compile(module);
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'none'; worker-src blob:; img-src data:; form-action 'none'";
  document.head.append(policy);
  workerUrl = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  start();
}

function start() {
  worker = new Worker(workerUrl);
  worker.onmessage = ({ data }) => {
    if (data.ready) return;
    if (!running || data.id !== running.id) return;
    const { resolve } = end();
    if (data.broken) restart();
    resolve(data.broken ? { broken: data.broken } : JSON.parse(data.response));
    next();
  };
  worker.postMessage({ compiled });
}

function restart() {
  worker.terminate();
  start();
}

function end() {
  const ended = running;
  clearTimeout(ended.timer);
  running = null;
  return ended;
}

/** Asks the worker. A request that waits is dropped when a newer one comes: it resolves to null. */
function ask(request) {
  return new Promise((resolve) => {
    queued?.resolve(null);
    queued = { request, resolve };
    next();
  });
}

function next() {
  if (running || !queued || !worker) return;
  const { request, resolve } = queued;
  queued = null;
  const id = ++lastId;
  const timer = setTimeout(() => {
    end();
    restart();
    resolve({ broken: `stopped: it takes longer than ${TIME_LIMIT / 1000} seconds` });
    next();
  }, TIME_LIMIT);
  running = { id, resolve, timer };
  worker.postMessage({ id, request: JSON.stringify(request) });
}

// ---- rendering ------------------------------------------------------------------------------------------------------

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) {
    text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  }
  return btoa(text);
}

async function render() {
  setState("rendering", "Rendering…");
  const started = performance.now();
  const response = await ask({
    ask: "render",
    files: [...files].map(([path, file]) => ({ path, ...file })),
    values,
    release: byId("release").value,
    namespace: byId("namespace").value,
    kubeVersion: byId("kube-version").value.trim(),
    includeCrds: byId("include-crds").checked,
    now: Date.now(),
    random: base64(crypto.getRandomValues(new Uint8Array(32))),
  });
  if (response) show(response, performance.now() - started);
}

let pause = 0;
function renderSoon() {
  clearTimeout(pause);
  setState("waiting", byId("status").textContent);
  pause = setTimeout(render, PAUSE);
}

function setState(state, text) {
  document.body.dataset.state = state;
  byId("status").textContent = text;
}

function show(response, time) {
  diagnostics = response.broken
    ? [{ isError: true, message: response.broken, notes: [], hints: [], trace: [] }]
    : response.diagnostics;
  const failed = response.broken || response.output === null;
  if (!failed) {
    output = response.output;
    const rest = output.length - MOST_SHOWN;
    byId("output").textContent =
      rest > 0 ? `${output.slice(0, MOST_SHOWN)}\n… and ${rest.toLocaleString("en")} more characters: Copy takes all of them\n` : output;
    byId("notes").hidden = !response.notes;
    byId("notes-text").textContent = response.notes ?? "";
  }
  byId("problems").replaceChildren(...diagnostics.map(problem));
  const errors = diagnostics.filter((one) => one.isError).length;
  const count = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;
  const result = failed ? count(errors, "error") : count(response.objects, "object");
  showFiles();
  showMarks();
  setState(failed ? "failed" : "done", `${result}, ${Math.max(1, Math.round(time))} ms`);
}

function element(tag, className, text) {
  const one = document.createElement(tag);
  if (className) one.className = className;
  if (text !== undefined) one.textContent = text;
  return one;
}

function problem(one) {
  const item = element("li", one.isError ? "error" : "warning");
  item.append(element("p", "message", one.message));
  if (one.at) item.append(link(one.at));
  if (one.excerpt?.trim()) item.append(element("pre", "", one.excerpt.slice(0, 300)));
  if (one.label) item.append(element("p", "more", one.label));
  for (const step of one.trace) {
    const line = element("p", "more", `${step.text} `);
    if (step.at) line.append(link(step.at));
    item.append(line);
  }
  for (const note of one.notes) item.append(element("p", "more", `note: ${note}`));
  for (const hint of one.hints) item.append(element("p", "more", `help: ${hint}`));
  return item;
}

function link(at) {
  const button = element("button", "path", `${at.file}:${at.line}:${at.column}`);
  button.type = "button";
  button.disabled = at.file !== VALUES && files.get(at.file)?.text === undefined;
  button.onclick = () => goTo(at);
  return button;
}

/** The offset of a line and column; columns count characters, JavaScript's strings UTF-16. */
function offset(text, line, column) {
  let start = 0;
  for (let number = 1; number < line; number += 1) {
    const end = text.indexOf("\n", start);
    if (end < 0) return text.length;
    start = end + 1;
  }
  const rest = text.slice(start).split("\n", 1)[0];
  return start + [...rest].slice(0, column - 1).join("").length;
}

function goTo(at) {
  select(at.file);
  const start = offset(source.value, at.line, at.column);
  source.focus();
  source.setSelectionRange(start, offset(source.value, at.endLine, at.endColumn));
  const height = parseFloat(getComputedStyle(source).lineHeight);
  source.scrollTop = Math.max(0, (at.line - 4) * height);
}

// ---- files ----------------------------------------------------------------------------------------------------------

function select(path) {
  open = path;
  const file = path === VALUES ? { text: values } : files.get(path);
  source.value = file?.text ?? "(binary)";
  source.readOnly = file?.text === undefined;
  byId("open-path").textContent = path === VALUES ? "Values (as with -f)" : path;
  byId("remove").hidden = path === VALUES;
  source.scrollTop = source.scrollLeft = 0;
  showFiles();
  showMarks();
}

function showFiles() {
  const wrong = new Set(diagnostics.filter((one) => one.isError && one.at).map((one) => one.at.file));
  const item = (path) => {
    const button = element("button", "", path === VALUES ? "Values (as with -f)" : path);
    button.type = "button";
    button.classList.toggle("error", wrong.has(path));
    button.classList.toggle("values", path === VALUES);
    button.setAttribute("aria-current", String(path === open));
    button.onclick = () => select(path);
    const line = element("li");
    line.append(button);
    return line;
  };
  const focused = byId("file-list").contains(document.activeElement);
  byId("file-list").replaceChildren(...[VALUES, ...[...files.keys()].sort()].map(item));
  if (focused) byId("file-list").querySelector('[aria-current="true"]')?.focus();
}

/** Line numbers, and a background for lines with errors; the words themselves are underlined. */
function showMarks() {
  const lines = source.value.split("\n");
  const kinds = new Map();
  const words = new Map();
  for (const { at, isError } of diagnostics) {
    if (at?.file !== open) continue;
    if (isError || !kinds.has(at.line)) kinds.set(at.line, isError ? "error" : "warning");
    const end = at.endLine === at.line ? at.endColumn : Infinity;
    if (isError && !words.has(at.line)) words.set(at.line, [at.column - 1, Math.max(end, at.column + 1) - 1]);
  }
  const numbers = lines.map((_, index) => span(kinds.get(index + 1), `${index + 1}\n`));
  byId("lines").replaceChildren(...numbers);
  const marks = lines.map((line, index) => {
    const kind = kinds.get(index + 1);
    if (!kind) return document.createTextNode("\n");
    const one = span(kind, "");
    const [from, to] = words.get(index + 1) ?? [0, 0];
    const letters = [...`${line} `];
    one.append(letters.slice(0, from).join(""), element("b", "", letters.slice(from, to).join("")), letters.slice(to).join(""), "\n");
    return one;
  });
  byId("marks").replaceChildren(...marks);
  scrolled();
}

function span(kind, text) {
  return element("span", kind ?? "", text);
}

function scrolled() {
  byId("lines").scrollTop = source.scrollTop;
  byId("marks").scrollTop = source.scrollTop;
  byId("marks").scrollLeft = source.scrollLeft;
}

function edited() {
  if (open === VALUES) values = source.value;
  else if (files.has(open)) files.set(open, { text: source.value });
  diagnostics = diagnostics.filter((one) => one.at?.file !== open);
  showMarks();
  renderSoon();
}

/** The indentation of a line goes on in the next one. */
function indented(event) {
  if (event.key !== "Enter" || event.ctrlKey || event.altKey || event.metaKey || source.readOnly) return;
  const before = source.value.slice(0, source.selectionStart);
  const [, indentation] = /(?:^|\n)( *)[^\n]*$/.exec(before);
  if (!indentation) return;
  event.preventDefault();
  source.setRangeText(`\n${indentation}`, source.selectionStart, source.selectionEnd, "end");
  edited();
}

// ---- opening --------------------------------------------------------------------------------------------------------

function refuse(message) {
  show({ broken: message }, 0);
}

/** [{ path, file: File }] of files and folders that are dropped. */
async function dropped(items) {
  const found = [];
  const walk = async (entry, path) => {
    if (entry.isFile) {
      found.push({ path, file: await new Promise((resolve, reject) => entry.file(resolve, reject)) });
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (entries.length === 0) return;
      for (const inside of entries) await walk(inside, `${path}/${inside.name}`);
    }
  };
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  for (const entry of entries) await walk(entry, entry.name);
  return found;
}

async function take(found) {
  const large = found.find(({ file }) => file.size > LARGEST_FILE);
  if (large) return refuse(`${large.path} is larger than ${LARGEST_FILE >> 20} MiB`);
  const archive = found.length === 1 && /\.(tgz|tar\.gz)$/.test(found[0].path) ? found[0] : null;
  if (archive) {
    const bytes = new Uint8Array(await archive.file.arrayBuffer());
    const response = await ask({ ask: "unpack", name: archive.path, archive: base64(bytes) });
    if (response?.broken || response?.diagnostics.length) return show({ output: null, ...response }, 0);
    return response && replace(response.files);
  }
  // Paths are those in the chart: below the folder that has the Chart.yaml nearest to the top.
  const depth = (path) => path.split("/").length;
  const tops = found.map(({ path }) => path).filter((path) => /(^|\/)Chart\.yaml$/.test(path));
  const top = tops.sort((a, b) => depth(a) - depth(b))[0]?.replace(/Chart\.yaml$/, "");
  const list = [];
  for (const { path, file } of found) {
    if (top !== undefined && !path.startsWith(top)) continue;
    const bytes = new Uint8Array(await file.arrayBuffer());
    list.push({ path: top === undefined ? path : path.slice(top.length), ...content(bytes) });
  }
  if (top !== undefined) return replace(list);
  // No chart: values, or templates of the one that is there.
  for (const { path, ...file } of list) {
    const isValues = /\.ya?ml$/.test(path) && !path.includes("/") && file.text !== undefined;
    if (isValues && list.length === 1) values = file.text;
    else files.set(path.includes("/") ? path : `templates/${path}`, file);
  }
  const [first] = list;
  if (first) select(list.length === 1 && values === first.text ? VALUES : open);
  render();
}

function content(bytes) {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { bytes: base64(bytes) };
  }
}

function replace(list) {
  files = new Map(list.map(({ path, ...file }) => [path, file]));
  values = "";
  diagnostics = [];
  const templates = [...files.keys()].filter((path) => /^templates\/[^_]*\.ya?ml$/.test(path)).sort();
  select(templates[0] ?? "Chart.yaml");
  render();
}

// ---- wiring ---------------------------------------------------------------------------------------------------------

source.addEventListener("input", edited);
source.addEventListener("keydown", indented);
source.addEventListener("scroll", scrolled);
for (const id of ["release", "namespace", "kube-version", "include-crds"]) byId(id).addEventListener("input", renderSoon);
byId("settings").addEventListener("submit", (event) => event.preventDefault());
byId("add-file").addEventListener("submit", (event) => {
  event.preventDefault();
  const path = byId("new-path").value.trim().replace(/^\/+/, "");
  if (!path || path === VALUES) return;
  if (!files.has(path)) files.set(path, { text: "" });
  byId("new-path").value = "";
  select(path);
  source.focus();
  renderSoon();
});
byId("remove").addEventListener("click", () => {
  files.delete(open);
  select(VALUES);
  render();
});
byId("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText(output);
  setState(document.body.dataset.state, "Copied");
});
for (const id of ["open-files", "open-folder"]) {
  byId(id).addEventListener("change", (event) => {
    const chosen = [...event.target.files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
    event.target.value = "";
    take(chosen);
  });
}
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dragging");
});
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("dragging");
});
document.addEventListener("drop", async (event) => {
  event.preventDefault();
  document.body.classList.remove("dragging");
  take(await dropped(event.dataTransfer.items));
});

select(open);
load().then(render, (error) => refuse(`the playground can't be loaded: ${error.message}`));
