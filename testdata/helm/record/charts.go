package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// chartCase is a run of the helm program, as charts/cases.json lists it, and what came out.
type chartCase struct {
	Chart  string   `json:"chart"`
	Case   string   `json:"case"`
	Args   []string `json:"args"`
	Code   int      `json:"code"`
	Stdout string   `json:"stdout"`
	Stderr string   `json:"stderr"`
}

// recordCharts runs all cases of charts/cases.json, each several times, and writes
// charts/cases.golden.json. It returns how many it refused.
func recordCharts(folder, helm string) (int, error) {
	input, err := os.ReadFile(filepath.Join(folder, "cases.json"))
	if err != nil {
		return 0, err
	}
	var cases []chartCase
	if err := json.Unmarshal(input, &cases); err != nil {
		return 0, err
	}
	home, err := os.MkdirTemp("", "record")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(home)
	var lines [][]byte
	refused := 0
	for _, c := range cases {
		var line []byte
		same := true
		for range 3 {
			again, err := c.run(folder, helm, home)
			if err != nil {
				return refused, err
			}
			same = same && (line == nil || bytes.Equal(line, again))
			line = again
		}
		if !same {
			fmt.Fprintf(os.Stderr, "%s/%s: refused: two runs differ\n", c.Chart, c.Case)
			refused++
			continue
		}
		lines = append(lines, line)
	}
	fmt.Printf("%6d  %s\n", len(lines), filepath.Join(folder, "cases.json"))
	return refused, writeLines(filepath.Join(folder, "cases.golden.json"), lines)
}

func (c chartCase) run(folder, helm, home string) ([]byte, error) {
	command := exec.Command(helm, append([]string{"template", "rel", ".", "--namespace", "ns"}, c.Args...)...)
	command.Dir = filepath.Join(folder, c.Chart)
	command.Env = []string{"HOME=" + home, "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		return nil, err
	}
	if !utf8.Valid(stdout.Bytes()) || !utf8.Valid(stderr.Bytes()) {
		return nil, fmt.Errorf("%s/%s: the output is not UTF-8", c.Chart, c.Case)
	}
	c.Code, c.Stdout, c.Stderr = command.ProcessState.ExitCode(), stdout.String(), stderr.String()
	if place, err := filepath.Abs(command.Dir); err == nil {
		c.Stderr = strings.ReplaceAll(c.Stderr, place, ".")
	}
	return compact(c)
}
