package headtail

import (
	"bytes"
	"strings"
	"testing"
)

// TestRedirect: what is kept goes on byte for byte, and only what is lost is replaced, by a line.
func TestRedirect(t *testing.T) {
	const lost = "\n[… 10 bytes of the output are lost here: they came before the command went to the background …]\n"
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", "", "later", "later"},
		{"an unfinished line", "one ", "two\n", "one two\n"},
		{"bytes that are not UTF-8", "\xff\xfe", "\xc3", "\xff\xfe\xc3"},
		{"a character in two parts", "\xc3", "\xa4\n", "\xc3\xa4\n"},
		{"all that fits", strings.Repeat("a", 30), "b", strings.Repeat("a", 30) + "b"},
		{"a lost middle", strings.Repeat("a", 10) + strings.Repeat("b", 10) + strings.Repeat("c", 10) + "d", "e", strings.Repeat("a", 10) + lost + strings.Repeat("c", 10) + "de"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &Buffer{Limit: 20}
			for i := range len(c.before) { // one at a time
				if _, err := h.Write([]byte{c.before[i]}); err != nil {
					t.Fatal(err)
				}
			}
			var to bytes.Buffer
			if err := h.Redirect(&to); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Write([]byte(c.after)); err != nil {
				t.Fatal(err)
			}
			if got := to.String(); got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
}
