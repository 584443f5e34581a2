// Records what sigs.k8s.io/yaml, which Helm 4.3.1 uses, makes of the inputs.
//
// In the folder ../read every X.in.json is a list of YAML texts, and X.out.json becomes the
// list of the JSON texts they are read as; in ../write every X.in.json is a list of
// data, and X.out.json becomes the list of the YAML texts they are written as. null stands for
// a refusal.
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	each("../read", func(raw json.RawMessage) ([]byte, error) {
		var text string
		check(json.Unmarshal(raw, &text))
		return yaml.YAMLToJSON([]byte(text))
	})
	each("../write", func(raw json.RawMessage) ([]byte, error) {
		var data interface{}
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		check(decoder.Decode(&data))
		return yaml.Marshal(numbers(data))
	})
}

func each(folder string, step func(json.RawMessage) ([]byte, error)) {
	files, err := filepath.Glob(filepath.Join(folder, "*.in.json"))
	check(err)
	for _, file := range files {
		in, err := os.ReadFile(file)
		check(err)
		var inputs []json.RawMessage
		check(json.Unmarshal(in, &inputs))
		outputs := make([]*string, len(inputs))
		for i, input := range inputs {
			if out, err := step(input); err == nil {
				text := string(out)
				outputs[i] = &text
			}
		}
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", " ")
		check(encoder.Encode(outputs))
		check(os.WriteFile(strings.TrimSuffix(file, ".in.json")+".out.json", out.Bytes(), 0o644))
	}
}

// numbers gives integers the types that Helm's --set gives them, and all else float64.
func numbers(data interface{}) interface{} {
	switch data := data.(type) {
	case json.Number:
		if value, err := strconv.ParseInt(data.String(), 10, 64); err == nil {
			return value
		}
		if value, err := strconv.ParseUint(data.String(), 10, 64); err == nil {
			return value
		}
		value, err := data.Float64()
		check(err)
		return value
	case []interface{}:
		for i := range data {
			data[i] = numbers(data[i])
		}
	case map[string]interface{}:
		for key := range data {
			data[key] = numbers(data[key])
		}
	}
	return data
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
