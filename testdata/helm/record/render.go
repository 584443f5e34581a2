package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/strvals"
)

// rounds is how often a case is evaluated, so that none passes by luck.
const rounds = 12

// manyRounds is for those that tell the order of a Go map: two keys of a small one change
// places in one of eight iterations only.
const manyRounds = 120

// ordered finds what tells the order of a Go map.
var ordered = regexp.MustCompile(`\b(keys|values|AsConfig|AsSecrets|shuffle)\b`)

// slow is the time after which a case is evaluated only a few times.
const slow = 100 * time.Millisecond

// source is the chart all cases are rendered in. Templates can change values, so each
// evaluation gets its own copy of them.
type source struct {
	files []*archive.BufferedFile
	sets  []string
}

// engineer renders one case after the other.
type engineer struct {
	chart    *chart.Chart
	partials []*common.File
	values   map[*chart.Chart]map[string]any
	sets     map[string]any
}

// longest is the size up to which an output is recorded.
const longest = 1 << 17

type result struct {
	template string
	text     string // the output, or the error
	failed   bool
	refused  string // why the case is not recorded
}

// readChart reads the chart's folder and set.txt, which holds one --set argument a line.
func readChart(folder string) (*source, error) {
	s := &source{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		s.files = append(s.files, &archive.BufferedFile{Name: filepath.ToSlash(name), Data: data})
		return nil
	})
	if err != nil {
		return nil, err
	}
	sets, err := os.ReadFile(filepath.Join(filepath.Dir(folder), "set.txt"))
	if err != nil {
		return nil, err
	}
	s.sets = strings.Split(strings.TrimSuffix(string(sets), "\n"), "\n")
	return s, nil
}

func (s *source) engineer() (*engineer, error) {
	c, err := loader.LoadFiles(s.files)
	if err != nil {
		return nil, fmt.Errorf("the chart does not load: %w", err)
	}
	e := &engineer{chart: c, partials: c.Templates, values: map[*chart.Chart]map[string]any{}, sets: map[string]any{}}
	for _, set := range s.sets {
		if err := strvals.ParseInto(set, e.sets); err != nil {
			return nil, fmt.Errorf("%s: %w", set, err)
		}
	}
	if err := chartutil.ProcessDependencies(c, e.sets); err != nil {
		return nil, err
	}
	for _, c := range append(c.Dependencies(), c) {
		e.values[c] = c.Values
	}
	return e, nil
}

// render renders template as c/templates/t.yaml, in the way `helm template` does.
func (e *engineer) render(template string) (string, error) {
	for c, values := range e.values {
		c.Values = clone(values).(map[string]any)
	}
	e.chart.Templates = append([]*common.File{{Name: "templates/t.yaml", Data: []byte(template)}}, e.partials...)
	release := common.ReleaseOptions{Name: "rel", Namespace: "ns", Revision: 1, IsInstall: true}
	sets := clone(e.sets).(map[string]any)
	scope, err := util.ToRenderValues(e.chart, sets, release, common.DefaultCapabilities.Copy())
	if err != nil {
		return "", err
	}
	rendered, err := engine.Engine{}.RenderWithContext(context.Background(), e.chart, scope)
	if err != nil {
		return "", err
	}
	output, found := rendered["c/templates/t.yaml"]
	if !found {
		return "", errors.New("the template was not rendered")
	}
	return output, nil
}

func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = clone(item)
		}
		return out
	case []any:
		// The capacity too: sprig's slice reaches beyond the length.
		out := make([]any, len(v), cap(v))
		for i, item := range v {
			out[i] = clone(item)
		}
		return out
	default:
		return v
	}
}

func (e *engineer) once(template string) result {
	output, err := e.render(template)
	if err != nil {
		return result{template: template, text: err.Error(), failed: true}
	}
	return result{template: template, text: output}
}

// many evaluates a template until it is clear that it always gives the same.
func (e *engineer) many(template string) result {
	start := time.Now()
	first := e.once(template)
	enough := rounds
	if ordered.MatchString(template) {
		enough = manyRounds
	}
	for round := 1; round < enough; round++ {
		if next := e.once(template); next != first {
			first.refused = "two evaluations differ"
			return first
		}
		if round >= 2 && time.Since(start) > slow {
			break
		}
	}
	if len(first.text) > longest {
		first.text, first.refused = "", fmt.Sprintf("more than %d bytes", longest)
		return first
	}
	year := regexp.MustCompile(`\b` + time.Now().UTC().Format("2006") + `\b`)
	if year.MatchString(first.text) && !year.MatchString(template) {
		first.refused = "it prints the current year"
	}
	return first
}

// evaluate runs all cases, and once more at least a second later, for those that tell the time.
func evaluate(s *source, lists [][]string) ([][]result, error) {
	results := make([][]result, len(lists))
	var all []*result
	for i, list := range lists {
		results[i] = make([]result, len(list))
		for j, template := range list {
			results[i][j].template = template
			all = append(all, &results[i][j])
		}
	}
	if err := s.each(all, func(e *engineer, r *result) { *r = e.many(r.template) }); err != nil {
		return nil, err
	}
	time.Sleep(1100 * time.Millisecond)
	return results, s.each(all, func(e *engineer, r *result) {
		if r.refused == "" && e.once(r.template) != *r {
			r.refused = "it gives something else a second later"
		}
	})
}

// each calls do for all results, on all processors.
func (s *source) each(all []*result, do func(*engineer, *result)) error {
	var wait sync.WaitGroup
	queue := make(chan *result)
	for range runtime.NumCPU() {
		e, err := s.engineer()
		if err != nil {
			return err
		}
		wait.Go(func() {
			for r := range queue {
				do(e, r)
			}
		})
	}
	for _, r := range all {
		queue <- r
	}
	close(queue)
	wait.Wait()
	return nil
}
