#!/usr/bin/env python3
"""Records what Helm 4.3.1 says of values and schemas: `schema.py` rewrites schema.json."""
import json, pathlib, subprocess, tempfile

S7 = "http://json-schema.org/draft-07/schema#"
S4 = "http://json-schema.org/draft-04/schema#"
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
    recorded.append({"schema": schema, "values": values, "helm": said, "words": case[2] if len(case) > 2 else "helm"})
(here / "schema.json").write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")
