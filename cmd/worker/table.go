package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// table is what a list command prints. On a terminal it fits: columns that can
// be missed are left out, and long texts are wrapped. Elsewhere, and with
// --wide, each row is one line and whole.
type table struct {
	header []string
	rows   [][]string
	drop   []string             // columns that can be missed, the first one first
	colors func([]string) color // of a row's STATUS or STATE; nil: none
}

// minColumn is how narrow a column that is wrapped gets.
const minColumn = 12

// registerWide registers the flag of the list commands.
func registerWide(cmd *cobra.Command, wide *bool) {
	cmd.Flags().BoolVar(wide, "wide", false, "show all columns, each row in one line, however wide the terminal is")
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// printTable prints a table on stdout.
func (p *program) printTable(t *table, wide bool) error {
	limit := 0
	if p.outTerm.is() && !wide {
		limit = p.outTerm.columns()
	}
	left := t.fit(limit)
	widths := t.widths(limit)
	var b strings.Builder
	for i, row := range append([][]string{t.header}, t.rows...) {
		paint := color("")
		if i > 0 && t.colors != nil {
			paint = t.colors(row)
		}
		t.write(&b, row, widths, limit > 0, func(column int, text string) string {
			switch {
			case i == 0:
				return p.outTerm.paint(dim, text)
			case t.header[column] == "STATUS" || t.header[column] == "STATE":
				return p.outTerm.paint(paint, text)
			}
			return text
		})
	}
	if _, err := p.stdout.Write([]byte(b.String())); err != nil {
		return err
	}
	if len(left) > 0 {
		fmt.Fprintf(p.stderr, "left out: %s; see them with --wide\n", strings.Join(left, ", "))
	}
	return nil
}

// fit drops columns until the rest fits, with its last one wrapped, and returns
// their names. limit 0: any width fits.
func (t *table) fit(limit int) (left []string) {
	if limit == 0 {
		return nil
	}
	for _, name := range t.drop {
		widths := t.natural()
		last := len(widths) - 1
		widths[last] = min(widths[last], 2*minColumn)
		if total(widths) <= limit {
			return left
		}
		i := slices.Index(t.header, name)
		if i < 0 {
			continue
		}
		left = append(left, name)
		t.header = slices.Delete(slices.Clone(t.header), i, i+1)
		for r, row := range t.rows {
			t.rows[r] = slices.Delete(slices.Clone(row), i, i+1)
		}
	}
	return left
}

// natural returns how wide the columns are where nothing is wrapped.
func (t *table) natural() []int {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, text := range row {
			widths[i] = max(widths[i], cells(text))
		}
	}
	return widths
}

func total(widths []int) int {
	n := 2 * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}

// widths returns how wide the columns are within limit: the last one gives way
// first, then the widest.
func (t *table) widths(limit int) []int {
	widths := t.natural()
	if limit == 0 {
		return widths
	}
	last := len(widths) - 1
	if over := total(widths) - limit; over > 0 {
		widths[last] = max(min(widths[last], 2*minColumn), widths[last]-over)
	}
	for total(widths) > limit {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= minColumn {
			break
		}
		widths[widest]--
	}
	return widths
}

// write writes a row, over several lines where a text has to be wrapped.
func (t *table) write(b *strings.Builder, row []string, widths []int, wraps bool, paint func(int, string) string) {
	texts, height := make([][]string, len(row)), 1
	for i, text := range row {
		texts[i] = []string{text}
		if wraps && cells(text) > widths[i] {
			texts[i] = wrap(text, widths[i])
		}
		height = max(height, len(texts[i]))
	}
	for n := range height {
		var line strings.Builder
		gap := 0
		for i := range row {
			text := ""
			if n < len(texts[i]) {
				text = texts[i][n]
			}
			if text != "" {
				line.WriteString(strings.Repeat(" ", gap) + paint(i, text))
				gap = 0
			}
			gap += widths[i] - cells(text) + 2
		}
		b.WriteString(line.String() + "\n")
	}
}
