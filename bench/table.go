package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// results are the figures of all rounds, and why there are none.
type results struct {
	quick  bool
	values map[string][]float64 // by row, column and figure
	failed map[string]error     // by row and column
}

func key(parts ...string) string { return strings.Join(parts, "/") }

func (t *results) median(parts ...string) (float64, bool) {
	v := slices.Sorted(slices.Values(t.values[key(parts...)]))
	if len(v) == 0 {
		return 0, false
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2, true
}

// lines returns the table's cells, the heads first.
func (t *results) lines(rows []row) [][]string {
	all := [][]string{append(append([]string{"work", "unit"}, columns...), "ratio")}
	for _, r := range rows {
		for i, f := range r.figures {
			line := []string{"", f.unit}
			if i == 0 {
				line[0] = r.title(t.quick)
			}
			for _, column := range columns {
				line = append(line, t.cell(&r, column, f))
			}
			all = append(all, append(line, t.ratio(&r, f)))
		}
	}
	return all
}

func (t *results) cell(r *row, column string, f figure) string {
	if _, does := r.peers[column]; !does {
		return "-"
	}
	if t.failed[key(r.key, column)] != nil {
		return "fails"
	}
	v, ok := t.median(r.key, column, f.key)
	if !ok {
		return ""
	}
	return number(v)
}

// ratio says how many times the peer's cost the project's is. For a rate that is
// the peer's rate through the project's: less is better in each line.
func (t *results) ratio(r *row, f figure) string {
	peer := r.beside()
	ours, ok1 := t.median(r.key, colWorker, f.key)
	theirs, ok2 := t.median(r.key, peer, f.key)
	if f.rate {
		ours, theirs = theirs, ours
	}
	if !ok1 || !ok2 || theirs <= 0 || ours <= 0 {
		return ""
	}
	return fmt.Sprintf("%.2f %s", ours/theirs, peer)
}

// number prints a figure with three digits.
func number(v float64) string {
	switch {
	case v >= 100:
		return thousands(v)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// thousands prints a whole number with commas.
func thousands(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// printText prints the table for a terminal.
func printText(w io.Writer, lines [][]string) {
	for _, line := range lines {
		fmt.Fprintf(w, "%-32s %-8s", line[0], line[1])
		for _, cell := range line[2:6] {
			fmt.Fprintf(w, " %9s", cell)
		}
		fmt.Fprintf(w, " %11s\n", line[6])
	}
}

// printMarkdown prints the table for a page.
func printMarkdown(w io.Writer, lines [][]string) {
	for i, line := range lines {
		fmt.Fprintf(w, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			fmt.Fprintln(w, "|---|---|"+strings.Repeat("--:|", len(line)-2))
		}
	}
}
