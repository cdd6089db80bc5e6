package page

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestMarkdown: what a stranger writes becomes HTML that runs nothing, loads nothing, and
// leads nowhere but to http, https and mailto.
func TestMarkdown(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"# A\n\n- *b* `c`", "<h1>A</h1>\n<ul>\n<li><em>b</em> <code>c</code></li>\n</ul>"},
		{"[x](https://a.example/b) <mailto:a@b.example>", `<p><a href="https://a.example/b">x</a> <a href="mailto:a@b.example">mailto:a@b.example</a></p>`},
		{"a | b\n--|--\n1 | <b>2</b>", "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>"},
		{"<script>alert(1)</script>\n\nb", "\n<p>b</p>"},
		{"[x](javascript:alert(1))", "<p>x</p>"},
		{"[x](JaVaScRiPt:alert%281%29) [y](data:text/html,z) [z](vbscript:w) [r](/v1/sessions) [f](file:///etc/passwd)", "<p>x y z r f</p>"},
		{"![alt](https://beacon.example/x.png)", "<p>[image: alt]</p>"},
		{"a\u202eb\x1b[31mc\u2066d", "<p>ab[31mcd</p>"},
		{"`<img src=x onerror=1>`", "<p><code>&lt;img src=x onerror=1&gt;</code></p>"},
	} {
		if got := strings.TrimRight(markdown(tt.text), "\n"); got != tt.want {
			t.Errorf("%q:\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
}

// TestLongMarkdown: a long text is read as Markdown at its beginning, and shown as plain text
// after that.
func TestLongMarkdown(t *testing.T) {
	text := strings.Repeat("ü", maxMarkdown/2) + "x *b* <b>"
	got := markdown(strings.Repeat("[", maxMarkdown-1) + text)
	if !strings.HasPrefix(got, "<p>[[") || !strings.HasSuffix(got, "üx *b* &lt;b&gt;</pre>") || strings.ContainsRune(got, utf8.RuneError) {
		t.Errorf("%.40q … %q", got, got[len(got)-40:])
	}
	k := newHTMLCache()
	for range 2 {
		if k.markdown(text) != markdown(text) || len(k.values) != 1 {
			t.Errorf("%d texts are kept", len(k.values))
		}
	}
}

// harmless is all that the page may get of an answer.
var harmless = regexp.MustCompile(`^<(?:/?(?:p|h[1-6]|ul|ol|li|strong|em|del|code|pre|blockquote|table|thead|tbody|tr|th|td|a)|br/?|hr/?|br /|hr /|ol start="\d+"|a href="(?:https?:|mailto:)[^"<>]*")>$`)

func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"<script>", "[a](javascript:b)", "![a](b)", "<a href=\"x\" onclick=y>", "[a]: data:b\n[a]", "<img/src=x>", "http://a.example/\"onx=y", "1) a\n2) b"} {
		f.Add(seed)
	}
	tags := regexp.MustCompile(`<[^>]*>`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, tag := range tags.FindAllString(markdown(text), -1) {
			if !harmless.MatchString(tag) {
				t.Errorf("%q makes the tag %s", text, tag)
			}
		}
	})
}

// TestDiff: what an edit changes, with the lines around it.
func TestDiff(t *testing.T) {
	var got strings.Builder
	for _, line := range editOf("edit_file", `{"path":"a","oldText":"one\ntwo\u200b\nthree","newText":"one\n2\nthree"}`) {
		got.WriteString(line.Op + " " + text(line.Text) + "\n")
	}
	if want := "same one\ndel two\\u{200b}\nadd 2\nsame three\n"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
	if lines := editOf("write_file", `{"path":"a","content":"x\n"}`); len(lines) != 1 || lines[0].Op != "add" {
		t.Errorf("a new file: %+v", lines)
	}
	if lines := editOf("read_file", `{"path":"a"}`); lines != nil {
		t.Errorf("no edit: %+v", lines)
	}
}
