package patch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
)

// mark is the byte order mark of UTF-8, which stays at the beginning of a text.
const mark = "\uFEFF"

// Apply returns a text with its hunks applied. Line ends stay as they are; lines that are
// added get those of the text. An error says which lines of the patch do not fit.
func Apply(text string, hunks []Hunk) (string, error) {
	bom := ""
	if rest, ok := strings.CutPrefix(text, mark); ok {
		bom, text = mark, rest
	}
	a := newApplication(text)
	for _, h := range hunks {
		if err := a.place(h); err != nil {
			return "", err
		}
	}
	return bom + a.result(), nil
}

// row is a line of a text.
type row struct{ text, end string } // end is "\n", "\r\n", or "" of a last line

// edit replaces rows from a place on by the lines of a hunk.
type edit struct {
	at    int
	lines []Line
}

// application is a text to which hunks are applied.
type application struct {
	rows   []row
	end    string // of lines that are added
	cursor int    // hunks are looked for from here on
	edits  []edit
	work   int // comparisons of lines that are left
}

// maxWork bounds the comparisons of lines, so that no patch takes long.
const maxWork = 20_000_000

var errWork = errors.New("the patch takes too long to apply to this file: write smaller hunks, with \"@@\" lines that occur once")

func newApplication(text string) *application {
	a := &application{end: "\n", work: maxWork}
	for line := range strings.Lines(text) {
		r := row{text: line}
		for _, end := range []string{"\r\n", "\n"} {
			if rest, ok := strings.CutSuffix(line, end); ok {
				r = row{rest, end}
				break
			}
		}
		a.rows = append(a.rows, r)
	}
	if crlf := strings.Count(text, "\r\n"); crlf > 0 && 2*crlf >= strings.Count(text, "\n") {
		a.end = "\r\n"
	}
	return a
}

// place finds where a hunk belongs.
func (a *application) place(h Hunk) error {
	at := a.cursor
	for i, context := range h.Contexts {
		found := a.seek([]string{context}, at, false)
		if a.work <= 0 {
			return errWork
		}
		if found < 0 {
			return fmt.Errorf("line %d of the patch: the context %q is not in the file%s", h.Line+i, termtext.Head(context, 120), below(at))
		}
		at = found + 1
	}
	lines := h.Lines
	old := oldLines(lines)
	if len(old) == 0 { // lines are only added
		if h.AtEnd || len(h.Contexts) == 0 {
			at = len(a.rows)
		} else {
			a.cursor = at
		}
		a.edits = append(a.edits, edit{at, lines})
		return nil
	}
	found := a.seek(old, at, h.AtEnd)
	for found < 0 && len(old) > 1 && old[len(old)-1] == "" { // the end of a line or of the hunk, written as a line
		lines, old = withoutLastEmpty(lines), old[:len(old)-1]
		found = a.seek(old, at, h.AtEnd)
	}
	switch {
	case a.work <= 0:
		return errWork
	case found < 0:
		return a.notFound(h, old, at)
	}
	a.edits = append(a.edits, edit{found, lines})
	a.cursor = found + len(old)
	return nil
}

// notFound is the error of a hunk whose lines are not in the file.
func (a *application) notFound(h Hunk, old []string, from int) error {
	what := fmt.Sprintf("line %d of the patch: these lines are not in the file%s:\n%s", h.Line, below(from), termtext.Head(strings.Join(old, "\n"), 400))
	if len(old) > 0 && from > 0 {
		if above := a.seek(old, 0, false); above >= 0 {
			return fmt.Errorf("%s\nThey stand at line %d: write hunks in the order of the file", what, above+1)
		}
	}
	return fmt.Errorf("%s\nRead the file again, and copy the lines exactly", what)
}

func below(row int) string {
	if row == 0 {
		return ""
	}
	return fmt.Sprintf(" below line %d", row)
}

// oldLines returns the lines that a hunk expects in the file.
func oldLines(lines []Line) (old []string) {
	for _, line := range lines {
		if line.Kind != '+' {
			old = append(old, line.Text)
		}
	}
	return old
}

// withoutLastEmpty leaves out the last line that the file would have to have, and an empty one
// that is added after it.
func withoutLastEmpty(lines []Line) []Line {
	last := len(lines) - 1
	for lines[last].Kind == '+' {
		last--
	}
	rest := slices.Delete(slices.Clone(lines), last, last+1)
	if n := len(rest); n > last && rest[n-1].Text == "" {
		rest = rest[:n-1]
	}
	return rest
}

// alike are the ways in which lines of a patch may be those of a file, the strictest first.
var alike = []func(s string) string{
	func(s string) string { return s },
	func(s string) string { return strings.TrimRight(s, " \t\r\v\f") },
	strings.TrimSpace,
	func(s string) string { return plain.Replace(strings.TrimSpace(s)) },
}

// plain makes what type is set with the characters that keyboards have.
var plain = func() *strings.Replacer {
	var pairs []string
	for _, group := range []struct{ typeset, plain string }{
		{"\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"},
		{"\u2018\u2019\u201A\u201B", "'"},
		{"\u201C\u201D\u201E\u201F", `"`},
		{"\u00A0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u202F\u205F\u3000", " "},
	} {
		for _, r := range group.typeset {
			pairs = append(pairs, string(r), group.plain)
		}
	}
	return strings.NewReplacer(pairs...)
}()

// seek returns the first place of lines in the file, from a row on; -1 means there is none.
// At the end of the file it is looked for first where atEnd is set.
func (a *application) seek(lines []string, from int, atEnd bool) int {
	last := len(a.rows) - len(lines)
	for _, form := range alike {
		want := make([]string, len(lines))
		for i, line := range lines {
			want[i] = form(line)
		}
		if atEnd && last >= from && a.matches(want, last, form) {
			return last
		}
		for at := from; !atEnd && at <= last && a.work > 0; at++ {
			if a.matches(want, at, form) {
				return at
			}
		}
	}
	if atEnd {
		return a.seek(lines, from, false)
	}
	return -1
}

func (a *application) matches(want []string, at int, form func(string) string) bool {
	for i, line := range want {
		if a.work--; form(a.rows[at+i].text) != line {
			return false
		}
	}
	return true
}

// result is the text with all edits made.
func (a *application) result() string {
	slices.SortStableFunc(a.edits, func(x, y edit) int { return x.at - y.at })
	var b strings.Builder
	missing := "" // the line end that the last line lacks, should one follow it
	write := func(r row) {
		b.WriteString(missing)
		b.WriteString(r.text)
		b.WriteString(r.end)
		if missing = ""; r.end == "" {
			missing = a.end
		}
	}
	next := 0
	for _, e := range a.edits {
		for ; next < e.at; next++ {
			write(a.rows[next])
		}
		for _, line := range e.lines {
			switch line.Kind {
			case ' ':
				write(a.rows[next])
				next++
			case '-':
				next++
			case '+':
				write(row{line.Text, a.end})
			}
		}
	}
	for ; next < len(a.rows); next++ {
		write(a.rows[next])
	}
	return b.String()
}
