package tool_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/internal/charset"
)

func TestEditFile(t *testing.T) {
	const bom = "\uFEFF"
	for _, c := range []struct {
		name          string
		file, old, by string
		all           bool
		want, says    string
	}{
		{"one", "a\nb\nc\n", "b", "B", false, "a\nB\nc\n", "replaced 1 occurrence in f, at line 2"},
		{"several lines", "a\nb\nc\n", "a\nb\n", "x\n", false, "x\nc\n", "at line 1"},
		{"remove", "a\nb\n", "b\n", "", false, "a\n", "at line 2"},
		{"all", "a b a\na\n", "a", "c", true, "c b c\nc\n", "replaced 3 occurrences in f, at lines 1, 1, 2"},
		{"all of one", "a\n", "a", "aa", true, "aa\n", "at line 1"},
		{"all, overlapping", "aaaaa", "aa", "b", true, "bba", "at lines 1, 1"},
		{"no last line end", "a\nb", "b", "c", false, "a\nc", "at line 2"},
		{"CRLF", "a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", false, "x\r\ny\r\nc\r\n", "at line 1"},
		{"CRLF in the new text alone", "a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\n", "at line 2"},
		{"CRLF given as such", "a\r\nb\r\n", "a\r\nb", "x\r\ny", false, "x\r\ny\r\n", "at line 1"},
		{"mixed, as it is", "a\nb\r\nc\n", "a\n", "x\n", false, "x\nb\r\nc\n", "at line 1"},
		{"mixed, as CRLF", "a\nb\r\nc\n", "b\nc", "b\nx", false, "a\nb\r\nx\n", "at line 2"},
		{"BOM", bom + "a\n", "a", "b", false, bom + "b\n", "at line 1"},
		{"BOM in both texts", bom + "a\n", bom + "a", bom + "b", false, bom + "b\n", "at line 1"},
		{"not UTF-8", "caf\xe9\nb\n", "b", "c", false, "caf\xe9\nc\n", "at line 2"},
		{"Latin letters", "caf\xe9\nb\n", "café", "thé", false, "th\xe9\nb\n", "at line 1"},
		{"UTF-16", "\xff\xfea\x00\n\x00b\x00\n\x00", "b", "é", false, "\xff\xfea\x00\n\x00\xe9\x00\n\x00", "at line 2"},
		{"a dollar is no group", "a\n", "a", "$1", false, "$1\n", "at line 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, nil, map[string]string{"f": c.file})
			got := p.text("edit_file", args{"path": "f", "oldText": c.old, "newText": c.by, "replaceAll": c.all})
			if p.read("f") != c.want || !strings.Contains(got, c.says) {
				t.Errorf("edit_file(%q, %q, %q): %q, %q; want %q, %q", c.file, c.old, c.by, p.read("f"), got, c.want, c.says)
			}
		})
	}
}

func TestEditFileRefuses(t *testing.T) {
	for _, c := range []struct{ name, file, old, by, want string }{
		{"twice", "a\nb\na\n", "a", "c", "occurs 2 times, at lines 1, 3: add lines around it until it is unique, or set replaceAll"},
		{"overlapping", "aaa", "aa", "b", "occurs 2 times, at lines 1, 1"},
		{"often", strings.Repeat("a\n", 20), "a", "b", "at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 10 more"},
		{"too often", strings.Repeat("a", 2000), "a", "b", "occurs at least 1000 times"},
		{"missing", "a\n", "b", "c", "oldText does not occur: read the file again"},
		{"white space", "func f() {\n\treturn 1\n}\n", "func f() {\n    return 1\n}", "x", "the text at line 1 differs from it only in white space"},
		{"empty", "a\n", "", "b", "oldText is empty"},
		{"empty but for the BOM", "\uFEFFa\n", "\uFEFF", "b", "oldText is empty"},
		{"same", "a\n", "a", "a", "nothing to change"},
		{"same once it is CRLF", "a\r\n", "a\n", "a\r\n", "nothing to change"},
		{"binary", "a\x00", "a", "b", "is a binary file"},
		{"large", strings.Repeat("x", 4000) + "a", "a", "b", "more than the 3.9 KiB that can be edited"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, &tool.Options{MaxFileBytes: 4000}, map[string]string{"f": c.file})
			p.fails("edit_file", args{"path": "f", "oldText": c.old, "newText": c.by}, c.want)
			if got := p.read("f"); got != c.file {
				t.Errorf("the file was changed to %q", got)
			}
			p.wantTree("f")
		})
	}
	p := newPlace(t, nil, nil)
	p.fails("edit_file", args{"path": "none", "oldText": "a", "newText": "b"}, "none: file does not exist")
	p.fails("edit_file", args{"path": ".", "oldText": "a", "newText": "b"}, "it is a folder")
}

// An edit changes what it says and nothing else: it agrees with the plain
// replacement of text with LF, and CRLF and BOM are as they were.
func FuzzEditFile(f *testing.F) {
	f.Add("a\nb\nc\n", "b", "x\ny", true, true)
	f.Add("aaa", "aa", "b", false, false)
	f.Add("\n\n", "\n", "", true, false)
	f.Add("é\nè", "\xc3", "x", false, true)
	f.Fuzz(func(t *testing.T, content, old, by string, crlf, bom bool) {
		const mark = "\uFEFF"
		for _, s := range []string{content, old, by} {
			if strings.ContainsAny(s, "\r\x00"+mark) || len(s) > 4000 {
				return
			}
		}
		asFile := func(s string) string {
			if crlf {
				s = strings.ReplaceAll(s, "\n", "\r\n")
			}
			if bom {
				s = mark + s
			}
			return s
		}
		if crlf && !strings.Contains(content, "\n") {
			return // then it is not known to be a CRLF file
		}
		if _, stored, ok := charset.Decode([]byte(asFile(content))); !ok || !stored.IsUTF8() {
			return // its bytes are other letters
		}
		p := newPlace(t, nil, map[string]string{"f": asFile(content)})
		for _, all := range []bool{false, true} {
			r := p.call("edit_file", args{"path": "f", "oldText": old, "newText": by, "replaceAll": all})
			// The arguments travel as JSON, which replaces each byte that is not UTF-8.
			old, by := string([]rune(old)), string([]rune(by))
			count := strings.Count(content, old)
			ok := old != "" && old != by && (count == 1 && !overlaps(content, old) || all && count > 0)
			want := content
			if ok {
				want = strings.ReplaceAll(content, old, by)
			}
			if got := p.read("f"); r.IsError == ok || got != asFile(want) {
				t.Fatalf("edit_file(%q, %q -> %q, all=%v): %q, file %q; want ok=%v, file %q", asFile(content), old, by, all, r.Text, got, ok, asFile(want))
			}
			p.put("f", asFile(content))
		}
	})
}

// overlaps reports whether old is in content at two overlapping places.
func overlaps(content, old string) bool {
	i := strings.Index(content, old)
	return i >= 0 && strings.Contains(content[i+1:], old)
}

// A result over the limit is refused before it is made: these would have
// hundreds of gigabytes.
func TestEditFileBoundsItsResult(t *testing.T) {
	file := strings.Repeat("a", 5<<20)
	p := newPlace(t, nil, map[string]string{"f": file, "g": "\uFEFFab\r\nab\r\n"})
	p.fails("edit_file", args{"path": "f", "oldText": "a", "newText": strings.Repeat("b", 100_000), "replaceAll": true},
		"with 5242880 occurrences replaced the file would have more than 10.0 MiB")
	if p.read("f") != file {
		t.Error("the file was changed")
	}
	got := p.text("edit_file", args{"path": "f", "oldText": "a", "newText": "bb", "replaceAll": true})
	if want := "replaced 5242880 occurrences in f, at lines 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 and 5242870 more"; got != want || p.read("f") != strings.Repeat("b", 10<<20) {
		t.Errorf("a result of exactly the limit: %q, want %q", got, want)
	}
	p.wantTree("f", "g")

	for limit, ok := range map[int64]bool{14: false, 15: true} {
		p := newPlace(t, &tool.Options{MaxFileBytes: limit}, map[string]string{"g": "\uFEFFab\r\nab\r\n"})
		r := p.call("edit_file", args{"path": "g", "oldText": "b\n", "newText": "bcd\n", "replaceAll": true})
		if r.IsError == ok {
			t.Errorf("15 bytes with a limit of %d: %+v", limit, r)
		}
	}
}
