#!/usr/bin/env python3
"""Records what Helm 4.3.1 says of values and schemas: `schema.py` rewrites schema.json."""
import json, pathlib, re, subprocess, tempfile

S7 = "http://json-schema.org/draft-07/schema#"
S4 = "http://json-schema.org/draft-04/schema#"
S20 = "https://json-schema.org/draft/2020-12/schema"
S19 = "https://json-schema.org/draft/2019-09/schema"
PATTERNS = [
    r"^[\w-.]+$", r"^{{.*}}$|^[A-Z]+$", r"^\${.*}$", "x{,2}", "{", "I{2", "I}", "]", "^$", "", "^INFO$", "^(INFO|X)$", "INFO",
    "^(?i)(debug|info)$", "(?s)I.F", "(?m)^INFO$", "(?U)I+", "(?-s)I.", "(?P<n>I)", "(?<n>I)", r"\AINFO\z", r"\pL", r"\p{Lu}+",
    "[[:alpha:]]", "[^]]+", "^[[:alpha:]]+$", "^[[:^alpha:]]+$", "^[[:word:]]+$", r"\s", r"^\S*$", r"\bINFO\b", r"\BN", r"\<INFO",
    r"\Q.\E", r"\a", r"\0", r"\07", r"\p{^L}", r"\u0061", r"\u{61}", r"\cA", "a++", "a**", "x{1001}", "(x{100}){100}",
    "(?x)a b", r"(I)\1", "(?=I)", "(?<=a)", "[",
]
BAD = [{"pattern": "(?=a)"}, {"pattern": "(a)\\1"}, {"patternProperties": {"[": {}}}]
CASES = [
    ({"type": "object"}, "a: 1"),
    ({"required": ["a"]}, "b: 1"),
    ({"required": ["a", "b"], "properties": {"c": {"required": ["d"]}}}, "c: {}"),
    ({"properties": {"a": {"type": "integer"}}}, "a: x"),
    ({"properties": {"a": {"type": "integer"}}}, "a: 1.5"),
    ({"properties": {"a": {"type": "integer"}}}, "a: 1.0"),
    ({"properties": {"a": {"type": ["integer", "null"]}}}, "a: {}"),
    ({"properties": {"a": {"type": ["string", "boolean", "array"]}}}, "a: 1"),
    ({"$schema": S4, "properties": {"a": {"type": "integer"}}}, "a: 1.0"),
    ({"$schema": S4, "properties": {"a": {"minimum": 1, "exclusiveMinimum": True}}}, "a: 1"),
    ({"properties": {"a": {"enum": ["x", "y", 1, None, True]}}}, "a: z"),
    ({"properties": {"a": {"enum": ["x"]}}}, "a: z"),
    ({"properties": {"a": {"enum": [{"b": 1}]}}}, "a: z"),
    ({"properties": {"a": {"enum": [1.0, 2]}}}, "a: 1"),
    ({"properties": {"a": {"const": 1}}}, "a: 2"),
    ({"properties": {"a": {"const": "it's \"x\""}}}, "a: 2"),
    ({"properties": {"a": {"const": [1]}}}, "a: 2"),
    ({"properties": {"a": {"minimum": 1000, "maximum": 2000}}}, "a: 1"),
    ({"properties": {"a": {"minimum": 10, "maximum": 2000}}}, "a: 12345"),
    ({"properties": {"a": {"exclusiveMinimum": 1.5}}}, "a: 1.5"),
    ({"properties": {"a": {"exclusiveMaximum": 1}}}, "a: 1"),
    ({"properties": {"a": {"multipleOf": 3}}}, "a: 4"),
    ({"properties": {"a": {"minLength": 3}}}, "a: é"),
    ({"properties": {"a": {"maxLength": 1}}}, "a: abc"),
    ({"properties": {"a": {"minItems": 1}}}, "a: []"),
    ({"properties": {"a": {"maxItems": 1}}}, "a: [1, 2]"),
    ({"properties": {"a": {"minProperties": 1}}}, "a: {}"),
    ({"properties": {"a": {"maxProperties": 0}}}, "a: {b: 1}"),
    ({"properties": {"a": {"uniqueItems": True}}}, "a: [1, 2, 1]"),
    ({"properties": {"a": {"contains": {"type": "string"}}}}, "a: [1]", "own"),
    ({"properties": {"a": {"pattern": "^[a-z]+$"}}}, "a: A1"),
    ({"properties": {"a": {"pattern": "^\\d+$"}}}, "a: '12'"),
    ({"properties": {"a": {"pattern": "(?=x)"}}}, "a: x", "own"),
    ({"properties": {"a": {"pattern": "("}}}, "a: x", "own"),
    ({"properties": {"a": {}}, "additionalProperties": False}, "a: 1\nb: 2\nc: 3"),
    ({"additionalProperties": {"type": "string"}}, "b: 2"),
    ({"additionalProperties": False}, "b: 2\nc: 3"),
    ({"properties": {"a": {"additionalProperties": False}, "b": False}}, "a: {x: 1}\nb: 2"),
    ({"anyOf": [{"additionalProperties": False}, {"required": ["a"]}]}, "b: 2"),
    ({"patternProperties": {"^x": {"type": "string"}}}, "x1: 2"),
    ({"propertyNames": {"pattern": "^[a-z]$"}}, "ab: 2"),
    ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, "c: 1"),
    ({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}, "a: {}"),
    ({"properties": {"a": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}}, "a: {}"),
    ({"properties": {"a": {"oneOf": [{"type": "number"}, {"type": "integer"}]}}}, "a: 1"),
    ({"properties": {"a": {"not": {"type": "integer"}}}}, "a: 1"),
    ({"properties": {"a": False}}, "a: 1"),
    ({"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}, "a: 1"),
    ({"$ref": "#/$defs/x", "$defs": {"x": {"required": ["a"]}}}, "b: 1"),
    ({"properties": {"a": {"$ref": "#/definitions/x"}}, "definitions": {"x": {"type": "string"}}}, "a: 1"),
    ({"$schema": S7, "properties": {"a": {"format": "email"}}}, "a: x", "own"),
    ({"$schema": S7, "properties": {"a": {"format": "uri"}}}, "a: x", "own"),
    ({"$schema": S7, "properties": {"a": {"format": "ipv4"}}}, "a: x", "own"),
    ({"$schema": S7, "properties": {"a": {"format": "hostname"}}}, "a: a_b", "own"),
    ({"$schema": S7, "properties": {"a": {"format": "uuid"}}}, "a: x", "own"),
    ({"$schema": S7, "properties": {"a": {"format": "duration"}}}, "a: x", "own"),
    ({"$schema": S7, "properties": {"a": {"format": "semver"}}}, "a: x", "own"),
    ({"$schema": S7, "properties": {"a": {"format": "regex"}}}, "a: '('", "own"),
    ({"$schema": S7, "properties": {"a": {"format": "date-time"}}}, "a: x", "own"),
    ({"$schema": S7, "properties": {"a": {"format": "idn-email"}}}, "a: x", "own"),
    ({"$schema": S7, "properties": {"a": {"format": "unknown"}}}, "a: x", "own"),
    ({"properties": {"a": {"format": "email"}}}, "a: x"),
    ({"$schema": "https://json-schema.org/draft/2019-09/schema", "properties": {"a": {"format": "email"}}}, "a: x"),
    ({"$schema": "http://json-schema.org/schema#", "properties": {"a": {"type": "string"}}}, "a: 1"),
    ({"$schema": "https://json-schema.org/draft-07/schema", "properties": {"a": {"type": "string"}}}, "a: 1"),
    ({"$schema": S7, "properties": {"a": {"contentEncoding": "base64"}}}, "a: '%'"),
    ({"$schema": S7, "properties": {"a": {"contentMediaType": "application/json"}}}, "a: '%'"),
    ({"$schema": S7, "dependencies": {"a": ["b"]}}, "a: 1", "own"),
    ({"dependentRequired": {"a": ["b"]}}, "a: 1", "own"),
    ({"$schema": S7, "properties": {"a": {"items": [{}], "additionalItems": False}}}, "a: [1, 2, 3]"),
    ({"unevaluatedProperties": False, "properties": {"a": {}}}, "b: 1", "own"),
    ({"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, "c: 1", "own"),
    ({"type": "objekt"}, "a: 1", "own"),
    ({"$ref": "#"}, "a: 1", "own"),
    ({"allOf": [{"$ref": "#"}]}, "a: 1", "own"),
    ({"$ref": "#/nowhere"}, "a: 1", "own"),
    ({"properties": {"a": {"$ref": "urn:example:x"}}}, "a: 1"),
    ({"properties": {"a~/b": {"type": "string"}}}, "a~/b: 1"),
    *(({"$schema": draft, "properties": {"level": {"pattern": pattern}}}, "level: INFO", "own regex")
      for draft in (S20, S7) for pattern in PATTERNS),
    *(({"$schema": draft, "patternProperties": {pattern: {"type": "integer"}}, "additionalProperties": False}, "INFO: x", "own regex")
      for draft in (S20, S7) for pattern in PATTERNS),
    *(({"$schema": draft, where: {"u": bad}}, "a: 1", "own")
      for draft in (S20, S19, S7) for where in ("$defs", "definitions", "x") for bad in BAD),
    ({"patternProperties": {r"^\d": {"type": "string"}, "^[0-9]": {"minimum": 3}, "^0": {"maximum": 0}}}, "'0': 1"),
    ({"patternProperties": {"[k]": {"type": "string"}, "k": {"minimum": 3}}}, "k: 1"),
    ({"patternProperties": {r"\bk": {"type": "string"}}}, "ék: 1"),
    ({"patternProperties": {r"(?m)^k": {"type": "string"}}}, '"a\\nk": 1'),
    ({"patternProperties": {r"(?i)^K\pL": {"type": "string"}}}, '"ké": 1'),
    ({"unevaluatedProperties": False, "patternProperties": {"^(?i)k": {}}}, "K: 1"),
    ({"$ref": "#/patternProperties/%5E%5Cd~1", "patternProperties": {r"^\d/": {"required": ["b"]}}}, "a: 1"),
    ({"propertyNames": {"pattern": r"^\pL$"}}, "ab: 2"),
    ({"anyOf": [True, {"patternProperties": {"[[:alpha:]]": False}}]}, "ab: 2"),
    ({"allOf": [{"patternProperties": {"[[:alpha:]]": False}}, True]}, "ab: 2", "own"),
    ({"$schema": S7, "definitions": {"x": {"type": "string"}},
      "properties": {"a": {"$ref": "#/definitions/x", "pattern": r"^\d"}}}, "a: x"),
    *(({"properties": {"a": {"pattern": pattern}}}, "a: " + value) for pattern, value in [
        (r"^\s$", '"\\u00a0"'), (r"^\s$", '"\\v"'), (r"^\S$", '"\\u00a0"'), (r"\bk", "ék"), (r"\Bk", "ék"), ("^.$", '"\\n"'),
        ("a$", '"a\\n"'), (r"^\w$", "é"), ("(?i)k", '"\\u212a"'), (r"^\pL$", "é"), ("é", "é"), (r"^\d$", "٣"), (r"^\d", "1"),
    ]),
    *(({"$schema": S7, "properties": {"a": {"format": "regex"}}}, "a: " + json.dumps(text), "own") for text in PATTERNS),
    *(({**({"$schema": draft} if draft else {}), "$id": id, "properties": {"a": {"$ref": "#/definitions/q"}},
        "definitions": {"q": {"type": "string"}}}, "a: 1", *words)
      for draft, *words in ((S7,), ("http://json-schema.org/draft-06/schema#",), (S19, "own"), (S20, "own"), (None, "own"))
      for id in ("https://example.com/x#frag", "https://example.com/x#", "x#frag", "#frag", "#", "https://example.com/x")),
    *(({"$schema": S4, "id": id, "properties": {"a": {"$ref": "#/definitions/q"}},
        "definitions": {"q": {"type": "string"}}}, "a: 1") for id in ("https://example.com/x#frag", "x#", "#frag")),
    *(({"$schema": S7, "properties": {"a": {"$ref": ref}}, "definitions": {"q": {"$id": "https://example.com/x#frag", "type": "string"}}},
       "a: 1", "own") for ref in ("#/definitions/q", "https://example.com/x#frag")),
    (True, "a: 1"),
    (False, "a: 1"),
]
here = pathlib.Path(__file__).resolve().parent
recorded = []
for case in CASES:
    schema, values = json.dumps(case[0]), case[1]
    with tempfile.TemporaryDirectory() as folder:
        chart = pathlib.Path(folder)
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 0.1.0\n")
        (chart / "values.schema.json").write_text(schema)
        (chart / "v.yaml").write_text(values)
        run = subprocess.run(["helm", "template", "x", folder, "-f", folder + "/v.yaml"], capture_output=True, text=True)
        said = run.stderr.partition("chart(s):\nc:\n")[2].strip() if run.returncode else ""
        if run.returncode and not said:
            said = run.stderr.replace(folder, "").strip()
    # Their order is random.
    said = re.sub(r"(?<=additional properties )'.*'(?= not allowed)", lambda names: ", ".join(sorted(names[0].split(", "))), said)
    words = case[2] if len(case) > 2 else "helm"
    if words == "own regex":
        words = "own" if "is not valid" in said else "helm"
    recorded.append({"schema": schema, "values": values, "helm": said, "words": words})
(here / "schema.json").write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")
