// Records what Helm 4.3.1's strvals makes of the inputs.
//
// ../set.in.json is a list of {flag, text, base}; ../set.out.json becomes the list of the
// values as JSON, in which numbers say whether they are int64 or float64, or of the errors.
// A file of --set-file holds its own path in angle brackets.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"helm.sh/helm/v4/pkg/strvals"
)

type input struct {
	Flag string `json:"flag"`
	Text string `json:"text"`
	Base string `json:"base"`
}

func main() {
	in, err := os.ReadFile("../set.in.json")
	check(err)
	var cases []input
	check(json.Unmarshal(in, &cases))
	outputs := make([]string, len(cases))
	for i, one := range cases {
		values := map[string]interface{}{}
		if one.Base != "" {
			check(json.Unmarshal([]byte(one.Base), &values))
		}
		if err := set(one, values); err != nil {
			outputs[i] = "error: " + err.Error()
			continue
		}
		out, err := json.Marshal(typed(values))
		check(err)
		outputs[i] = string(out)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	check(encoder.Encode(outputs))
	check(os.WriteFile("../set.out.json", out.Bytes(), 0o644))
}

func set(one input, values map[string]interface{}) error {
	switch one.Flag {
	case "--set":
		return strvals.ParseInto(one.Text, values)
	case "--set-string":
		return strvals.ParseIntoString(one.Text, values)
	case "--set-json":
		return strvals.ParseJSON(one.Text, values)
	case "--set-literal":
		return strvals.ParseLiteralInto(one.Text, values)
	case "--set-file":
		return strvals.ParseIntoFile(one.Text, values, func(path []rune) (interface{}, error) {
			return "<" + string(path) + ">", nil
		})
	}
	return fmt.Errorf("no such flag: %s", one.Flag)
}

func typed(data interface{}) interface{} {
	switch data := data.(type) {
	case int64:
		return "int(" + strconv.FormatInt(data, 10) + ")"
	case float64:
		text, err := json.Marshal(data)
		check(err)
		return "float(" + string(text) + ")"
	case []interface{}:
		items := make([]interface{}, len(data))
		for i := range data {
			items[i] = typed(data[i])
		}
		return items
	case map[string]interface{}:
		items := map[string]interface{}{}
		for key := range data {
			items[key] = typed(data[key])
		}
		return items
	}
	return data
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
