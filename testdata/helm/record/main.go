// Command record writes the golden files of template cases: what Helm's own engine makes of
// each template, on the chart in the folder data, and what the helm program prints for whole
// charts. README.md has the format of the files.
//
//	go run . FOLDER [HELM]
//
// FOLDER holds data, functions, language and charts; HELM is helm 4.3.1 (without it, charts are
// left out).
package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"
	_ "time/tzdata" // zones, where the system has none
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: record FOLDER [HELM]")
		os.Exit(2)
	}
	// Dates are printed in the local zone, and Helm logs on the way.
	time.Local = time.UTC
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	refused, err := record(os.Args[1])
	if err == nil && len(os.Args) == 3 {
		more, failed := recordCharts(filepath.Join(os.Args[1], "charts"), os.Args[2])
		refused, err = refused+more, failed
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if refused > 0 {
		fmt.Fprintf(os.Stderr, "%d cases refused\n", refused)
		os.Exit(1)
	}
}

// record rewrites every golden file under folder and returns how many cases it refused.
func record(folder string) (int, error) {
	chart, err := readChart(filepath.Join(folder, "data"))
	if err != nil {
		return 0, err
	}
	sources, err := caseFiles(folder)
	if err != nil {
		return 0, err
	}
	lists := make([][]string, len(sources))
	for i, source := range sources {
		if lists[i], err = readCases(source); err != nil {
			return 0, err
		}
	}
	results, err := evaluate(chart, lists)
	if err != nil {
		return 0, err
	}
	cases, refused := 0, 0
	for i, source := range sources {
		kept := slices.DeleteFunc(results[i], func(r result) bool {
			if r.refused != "" {
				fmt.Fprintf(os.Stderr, "%s: refused: %s: %s\n", source, r.refused, r.template)
				refused++
			}
			return r.refused != ""
		})
		if err := writeGolden(goldenName(source), kept); err != nil {
			return refused, err
		}
		fmt.Printf("%6d  %s\n", len(kept), source)
		cases += len(kept)
	}
	fmt.Printf("%6d  in %d files\n", cases, len(sources))
	return refused, nil
}
