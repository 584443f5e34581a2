package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// caseFiles lists the files with cases, sorted.
func caseFiles(folder string) ([]string, error) {
	var all []string
	for _, sub := range []string{"functions", "language"} {
		found, err := filepath.Glob(filepath.Join(folder, sub, "*.txt"))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.Sort(all)
	return all, nil
}

func goldenName(source string) string {
	return strings.TrimSuffix(source, ".txt") + ".golden.json"
}

// readCases reads the templates of one file; a template that comes twice is an error.
func readCases(name string) ([]string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s: not UTF-8", name)
	}
	var cases, block []string
	opened := 0
	first := map[string]int{}
	add := func(line int, template string) error {
		if before, twice := first[template]; twice {
			return fmt.Errorf("%s:%d: the same case as in line %d", name, line, before)
		}
		first[template] = line
		cases = append(cases, template)
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for i, line := range lines {
		var err error
		switch {
		case opened > 0 && line == "===":
			err = add(opened, strings.Join(block, "\n"))
			block, opened = nil, 0
		case opened > 0:
			block = append(block, line)
		case strings.HasPrefix(line, "==="):
			opened = i + 1
		case line != "" && !strings.HasPrefix(line, "#"):
			err = add(i+1, line)
		}
		if err != nil {
			return nil, err
		}
	}
	if opened > 0 {
		return nil, fmt.Errorf("%s:%d: the block is not closed", name, opened)
	}
	return cases, nil
}

// golden is a case as it is written. Exactly one of the last four is there.
type golden struct {
	Template     string  `json:"template"`
	Output       *string `json:"output,omitempty"`
	OutputBase64 *string `json:"outputBase64,omitempty"`
	Error        *string `json:"error,omitempty"`
	ErrorBase64  *string `json:"errorBase64,omitempty"`
}

func (r result) golden() golden {
	g := golden{Template: r.template}
	text := r.text
	plain := utf8.ValidString(text)
	if !plain {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	switch {
	case r.failed && plain:
		g.Error = &text
	case r.failed:
		g.ErrorBase64 = &text
	case plain:
		g.Output = &text
	default:
		g.OutputBase64 = &text
	}
	return g
}

// writeGolden writes the cases of one file.
func writeGolden(name string, results []result) error {
	lines := make([][]byte, len(results))
	for i, r := range results {
		line, err := compact(r.golden())
		if err != nil {
			return err
		}
		lines[i] = line
	}
	return writeLines(name, lines)
}

// compact is value as JSON in one line, with `<`, `>` and `&` as they are.
func compact(value any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// writeLines writes a JSON array with one line an element.
func writeLines(name string, lines [][]byte) error {
	array := append(append([]byte("[\n"), bytes.Join(lines, []byte(",\n"))...), "\n]\n"...)
	return os.WriteFile(name, array, 0o644)
}
