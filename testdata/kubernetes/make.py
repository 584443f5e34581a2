#!/usr/bin/env python3
"""Makes renderer/src/validate/kubernetes.txt.gz: the schemas of Kubernetes' own kinds, several versions in one file.

    python3 testdata/kubernetes/make.py 1.29.6 1.30.14 … 1.37.2

Each version is read from the Go module k8s.io/kubernetes, which `go mod download` fetches into a temporary folder (about
300 MB at a time): types and required fields from api/openapi-spec/swagger.json, and enums, which that file leaves out,
from pkg/generated/openapi. README.md describes the format.
"""
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

OUTPUT = Path(__file__).resolve().parents[2] / "renderer/src/validate/kubernetes.txt.gz"

# Types that are decoded by Go code of their own.
OWN = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "q",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "x",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "t",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "t",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "o",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "o",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": "*",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceSubresourceStatus": "o",
    "io.k8s.api.apiserverinternal.v1alpha1.StorageVersionSpec": "o",
}
PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
UNIONS = {
    PROPS + "OrBool": ["b", "#" + PROPS],
    PROPS + "OrArray": ["#" + PROPS, "[#" + PROPS],
    PROPS + "OrStringArray": ["#" + PROPS, "[s"],
}
PLAIN = {
    ("string", None): "s", ("string", "byte"): "y", ("string", "date-time"): "t",
    ("integer", "int32"): "i", ("integer", "int64"): "l", ("number", "double"): "n", ("boolean", None): "b",
}


def module(version, cache):
    environment = dict(os.environ, GOMODCACHE=str(cache), GOFLAGS="-modcacherw")
    command = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@v{version}"]
    answer = subprocess.run(command, cwd=cache, env=environment, check=True, capture_output=True).stdout
    return Path(json.loads(answer)["Dir"])


def enums(folder):
    """Function suffix and property -> values."""
    found, function, prop = {}, None, None
    for line in (folder / "pkg/generated/openapi/zz_generated.openapi.go").open():
        if match := re.match(r"func schema_(\w+)\(", line):
            function = match[1]
        elif match := re.match(r'\t{5}"([^"]+)": \{', line):
            prop = match[1]
        elif match := re.search(r"Enum:\s+\[\]interface\{\}\{(.*)\}", line):
            found[function, prop] = re.findall(r'"([^"]*)"', match[1])
    return found


def functions(name):
    """What the generator calls a definition's function: the last parts of its package's path."""
    parts = name.split(".")
    if parts[:2] == ["io", "k8s"]:
        parts = ["k8sio", *parts[2:]]
    parts = [part.replace("-", "") for part in parts]
    return {"_".join(parts), "_".join(parts[-5:]), "_".join(parts[-4:])}


class Version:
    def __init__(self, version, folder):
        self.version = version
        spec = json.loads((folder / "api/openapi-spec/swagger.json").read_text())
        self.definitions = spec["definitions"]
        self.enums = enums(folder)
        self.kinds = {}
        for path, methods in spec["paths"].items():
            kind = methods.get("post", {}).get("x-kubernetes-group-version-kind")
            # A subresource is no object.
            if not kind or not re.fullmatch(r"/apis?(/[^/{]+){1,2}(/namespaces/\{namespace\})?/[^/{]+", path):
                continue
            api = "/".join(part for part in (kind["group"], kind["version"]) if part)
            body = [one for one in methods["post"].get("parameters", []) if one.get("in") == "body"]
            self.kinds[api, kind["kind"]] = body[0]["schema"]["$ref"].rsplit("/", 1)[1]

    def enum(self, name, prop):
        for function in functions(name):
            if (function, prop) in self.enums:
                return self.enums[function, prop]
        return None

    def type(self, schema, values=None):
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            if name in OWN:
                return OWN[name]
            if name in UNIONS:
                return "|".join(UNIONS[name])
            return "#" + name
        kind = schema.get("type")
        if kind == "array":
            keys = ""
            if schema.get("x-kubernetes-list-type") == "map":
                keys = "@" + ",".join(schema["x-kubernetes-list-map-keys"]) + "@"
            elif schema.get("x-kubernetes-list-type") == "set":
                keys = "@@"
            return "[" + keys + self.type(schema["items"], values)
        if kind == "object":
            inner = schema.get("additionalProperties")
            return "<" + self.type(inner, values) if inner else "o"
        if kind is None:
            return "*"
        plain = PLAIN[kind, schema.get("format")]
        if plain == "s" and values:
            assert not any(re.search(r"[_(),|]", value) for value in values), values
            return "(" + ",".join(values).replace(" ", "_") + ")"
        return plain

    def body(self, name):
        schema = self.definitions[name]
        out = []
        for prop, inner in sorted(schema.get("properties", {}).items()):
            mark = "!" if prop in schema.get("required", []) else ""
            assert not re.search(r"[ :!]", prop), prop
            out.append(f"{prop}{mark}:{self.type(inner, self.enum(name, prop))}")
        return " ".join(out)

    def closure(self):
        todo, bodies = list(self.kinds.values()), {}
        while todo:
            name = todo.pop()
            if name in bodies:
                continue
            bodies[name] = self.body(name)
            todo += re.findall(r"#([^ |]+)", bodies[name])
        return bodies


def main():
    versions = []
    for number in sys.argv[1:] or sys.exit(__doc__):
        with tempfile.TemporaryDirectory() as cache:
            known = os.environ.get("KUBERNETES_SOURCES")
            versions.append(Version(number, Path(known) / number if known else module(number, Path(cache))))
    kinds, variants = collections.defaultdict(int), collections.defaultdict(lambda: collections.defaultdict(int))
    for index, version in enumerate(versions):
        for kind, name in version.kinds.items():
            kinds[*kind, name] |= 1 << index
        for name, body in version.closure().items():
            variants[name][body] |= 1 << index
    numbers = {name: index for index, name in enumerate(sorted(variants))}
    number = lambda text: re.sub(r"#([^ |]+)", lambda match: f"#{numbers[match[1]]}", text)
    lines = ["versions " + " ".join(version.version for version in versions)]
    lines += [f"kind {mask:x} {api} {kind} {numbers[name]}" for (api, kind, name), mask in sorted(kinds.items())]
    for name, bodies in sorted(variants.items()):
        lines += [f"type {mask:x} {numbers[name]} {number(body)}".rstrip() for body, mask in bodies.items()]
    text = "\n".join(lines) + "\n"
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{OUTPUT}: {OUTPUT.stat().st_size} bytes, {len(text)} unpacked, {len(lines)} lines", file=sys.stderr)


main()
