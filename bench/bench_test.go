package main

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/agentworker/worker/bench/scen"
)

// TestSameWork holds that each peer does all of a script's work: that its models
// and its tool are asked as often as the others', that each child's whole text comes
// to the parent's model, and to the consumer in order. Those that only store ask
// nobody: their messages are of runs of the worker.
func TestSameWork(t *testing.T) {
	for column, open := range all() {
		t.Run(column, func(t *testing.T) {
			for _, script := range []*scen.Script{{Fan: 1}, {Fan: 3}, {Fan: 1, Deltas: 1000}, {Fan: 20, Deltas: 50}} {
				agents, err := open(script)
				if err != nil {
					t.Fatal(err)
				}
				before := calls(script)
				for range 2 {
					if err := scen.Once(t.Context(), agents, script, &scen.Sink{Track: true}); err != nil {
						t.Fatalf("%d children, %d deltas: %v", script.Fan, script.Deltas, err)
					}
				}
				fan := int64(script.Fan)
				want := [3]int64{2 * 2, 2 * 3 * fan, 2 * 2 * fan}
				if stores[column] != nil {
					want = before
				}
				if got := calls(script); got != want {
					t.Errorf("%d children: calls of the parent's model, the children's, and the tool: %v, want %v", fan, got, want)
				}
				if err := agents.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func all() map[string]scen.Peer {
	all := maps.Clone(peers)
	maps.Copy(all, stores)
	return all
}

// calls are those of the parent's model, the children's and the tool.
func calls(s *scen.Script) [3]int64 {
	return [3]int64{s.ParentCalls.Load(), s.ChildCalls.Load(), s.Echoes.Load()}
}

// TestAtOnce holds that the children of a turn run side by side.
func TestAtOnce(t *testing.T) {
	for column, open := range peers {
		if _, err := hang(open, 10); err != nil {
			t.Errorf("%s: %v", column, err)
		}
	}
}

// TestMeasures holds that every measurement of the table gives every figure of its
// row, with small numbers.
func TestMeasures(t *testing.T) {
	for _, r := range rows {
		for column, measure := range r.peers {
			figures, err := measure(min(r.quick, 10))
			if err != nil {
				t.Errorf("%s, %s: %v", r.key, column, err)
			}
			for _, f := range r.figures {
				if _, ok := figures[f.key]; !ok {
					t.Errorf("%s, %s: there is no figure %s", r.key, column, f.key)
				}
			}
		}
	}
}

// TestTable holds the layout, the medians and the ratios.
func TestTable(t *testing.T) {
	r := []row{
		{key: "a", work: "# children", n: 10_000, figures: []figure{{"ms", "ms", false}}, peers: map[string]measure{colEino: nil, colWorker: nil}},
		{key: "b", work: "publish", figures: rate, peers: map[string]measure{colBare: nil, colWorker: nil}},
		{key: "c", work: "hang", figures: perHang[:1], peers: map[string]measure{colEino: nil, colWorker: nil}},
	}
	res := &results{
		values: map[string][]float64{
			"a/eino/ms": {9, 1, 2}, "a/worker/ms": {4, 2},
			"b/bare/rate": {300_000}, "b/worker/rate": {150_000},
			"c/eino/kib": {63.25},
		},
		failed: map[string]error{"c/worker": errors.New("as the test says")},
	}
	var text, page strings.Builder
	printText(&text, res.lines(r))
	printMarkdown(&page, res.lines(r))
	want := `
work                             unit         floor      eino      bare    worker       ratio
10,000 children                  ms               -      2.00         -      3.00   1.50 eino
publish                          events/s         -         -   300,000   150,000   2.00 bare
hang                             KiB each         -      63.2         -     fails            
`
	if got := "\n" + text.String(); got != want {
		t.Errorf("the table is%s\nwant%s", got, want)
	}
	for line := range strings.Lines(text.String()) {
		if len(line) > 100 {
			t.Errorf("a line has %d columns: %s", len(line), line)
		}
	}
	if want := "| 10,000 children | ms | - | 2.00 | - | 3.00 | 1.50 eino |\n"; !strings.Contains(page.String(), want) {
		t.Errorf("the page has no line %q:\n%s", want, page.String())
	}
	if err := res.failures(r); err == nil || err.Error() != "hang, worker: as the test says" {
		t.Errorf("the failures are %v", err)
	}
}
