package terminal

import (
	"cmp"
	"io"
	"slices"
	"strings"
)

// Table is what a list command prints. On a terminal it fits the width: less important
// columns are dropped, and long texts are wrapped. Elsewhere, and with --wide, each row is
// one complete line.
type Table struct {
	Header []string
	rows   [][]string
	Drop   []string             // columns that are dropped first, in this order
	Colors func([]string) Color // of a row's STATUS or STATE; nil means no colour
}

// minColumn is how narrow a column that is wrapped gets.
const minColumn = 12

// Add adds a row.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// Print prints the table, and returns the columns that it has dropped. With wide none is,
// even on a terminal.
func (t *Table) Print(w io.Writer, on Output, wide bool) (left []string, err error) {
	limit := 0
	if on.IsTerminal() && !wide {
		limit = on.Columns()
	}
	left = t.fit(limit)
	widths := t.widths(limit)
	var b strings.Builder
	for i, row := range append([][]string{t.Header}, t.rows...) {
		paint := Color("")
		if i > 0 && t.Colors != nil {
			paint = t.Colors(row)
		}
		t.write(&b, row, widths, limit > 0, func(column int, text string) string {
			switch {
			case i == 0:
				return on.Paint(Dim, text)
			case t.Header[column] == "STATUS" || t.Header[column] == "STATE":
				return on.Paint(paint, text)
			}
			return text
		})
	}
	_, err = io.WriteString(w, b.String())
	return left, err
}

// fit drops columns until the rest fits, with its last one wrapped, and returns
// their names. limit 0: any width fits.
func (t *Table) fit(limit int) (left []string) {
	if limit == 0 {
		return nil
	}
	for _, name := range t.Drop {
		widths := t.natural()
		last := len(widths) - 1
		widths[last] = min(widths[last], 2*minColumn)
		if total(widths) <= limit {
			return left
		}
		i := slices.Index(t.Header, name)
		if i < 0 {
			continue
		}
		left = append(left, name)
		t.Header = slices.Delete(slices.Clone(t.Header), i, i+1)
		for r, row := range t.rows {
			t.rows[r] = slices.Delete(slices.Clone(row), i, i+1)
		}
	}
	return left
}

// natural returns how wide the columns are if nothing is wrapped.
func (t *Table) natural() []int {
	widths := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.rows...) {
		for i, text := range row {
			widths[i] = max(widths[i], Cells(text))
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

// widths returns how wide the columns are within limit: the last one shrinks first, then
// the widest.
func (t *Table) widths(limit int) []int {
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
func (t *Table) write(b *strings.Builder, row []string, widths []int, wraps bool, paint func(int, string) string) {
	texts, height := make([][]string, len(row)), 1
	for i, text := range row {
		texts[i] = []string{text}
		if wraps && Cells(text) > widths[i] {
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
			gap += widths[i] - Cells(text) + 2
		}
		b.WriteString(line.String() + "\n")
	}
}

// Dash returns the text of a cell: "-" for an empty one.
func Dash(s string) string { return cmp.Or(s, "-") }
