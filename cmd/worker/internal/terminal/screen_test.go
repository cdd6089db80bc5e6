package terminal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hinshun/vt10x"
	"pgregory.net/rapid"
)

// TestScreen: whatever is shown live, and however often the terminal is resized
// meanwhile, what was written stays, and of the live lines nothing does.
func TestScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns, rows := rapid.IntRange(20, 80).Draw(t, "columns"), rapid.IntRange(2, 12).Draw(t, "rows")
		term := vt10x.New(vt10x.WithSize(columns, rows))
		s := NewScreen(term, Output{Redraws: true, Columns: func() int { return columns }, Rows: func() int { return rows }})
		last := "begin"
		fmt.Fprintf(s, "%s\r\n", last)
		text := rapid.StringMatching(`#[a-z日🎉\x{301}\x{200d} ]{0,120}`)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				last = rapid.StringMatching(`[a-z]{1,15}`).Draw(t, "line")
				fmt.Fprintf(s, "%s\r\n", last)
			case 1:
				columns, rows = rapid.IntRange(20, 80).Draw(t, "columns"), rapid.IntRange(2, 12).Draw(t, "rows")
				term.Resize(columns, rows)
			default:
				s.Show(rapid.SliceOfN(text, 0, 15).Draw(t, "live")...)
				if n := strings.Count(term.String(), "\n#") + 1; len(s.live) > 0 && n > rows {
					t.Fatalf("%d live lines in %d rows", n, rows)
				}
			}
			if lines := strings.Split(term.String(), "\n"); !strings.HasPrefix(lines[max(0, term.Cursor().Y-1)], last) {
				t.Fatalf("%q does not stand above the live lines:\n%s", last, term.String())
			}
		}
		s.Show()
		if strings.Contains(term.String(), "#") {
			t.Fatalf("a live line is left:\n%s", term.String())
		}
	})
}

// TestHide: nothing is shown live while that is held back.
func TestHide(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out, Output{Redraws: true, Columns: func() int { return 80 }, Rows: func() int { return 24 }})
	s.Show("one", "two")
	s.Hide()
	out.Reset()
	s.Show("three")
	if out.Len() > 0 {
		t.Errorf("it shows %q", out.String())
	}
	s.Unhide()
	s.Show("four")
	if !strings.Contains(out.String(), "four") {
		t.Errorf("it shows %q", out.String())
	}
}

// TestColors: which variables decide, and in which order.
func TestColors(t *testing.T) {
	for _, c := range []struct {
		redraws bool
		env     string
		want    bool
	}{
		{true, "", true},
		{false, "", false},
		{true, "NO_COLOR=1", false},
		{true, "NO_COLOR=no", false},
		{true, "NO_COLOR=", true},
		{true, "CLICOLOR=0", false},
		{true, "CLICOLOR=1", true},
		{false, "CLICOLOR=1", false},
		{false, "CLICOLOR_FORCE=1", true},
		{false, "CLICOLOR_FORCE=0", false},
		{true, "CLICOLOR_FORCE=1 NO_COLOR=1", false},
		{true, "CLICOLOR_FORCE=1 CLICOLOR=0", true},
	} {
		getenv := func(name string) string {
			for kv := range strings.FieldsSeq(c.env) {
				if value, ok := strings.CutPrefix(kv, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if got := colored(c.redraws, getenv); got != c.want {
			t.Errorf("%q on a terminal: %v: colours: %v, want %v", c.env, c.redraws, got, c.want)
		}
	}
}
