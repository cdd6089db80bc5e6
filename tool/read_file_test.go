package tool_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/tool"
)

func TestReadFile(t *testing.T) {
	p := newPlace(t, &tool.Options{MaxOutputLines: 5}, map[string]string{
		"two.txt":   "a\nb\n",
		"open.txt":  "a\nb",
		"empty.txt": "",
		"long.txt":  "x\n" + strings.Repeat("é", 1500) + "\nz\n",
		"many.txt":  numbered(12),
		"crlf.txt":  "a\r\nb\r\n",
		"bom.txt":   "\uFEFFa\n",
		"latin.txt": "caf\xe9\n",
		"blank.txt": "\n\n",
	})
	for _, c := range []struct {
		name      string
		args      args
		want      string
		truncated bool
	}{
		{"whole", args{"path": "two.txt"}, "     1→a\n     2→b", false},
		{"no line end", args{"path": "open.txt"}, "     1→a\n     2→b", false},
		{"empty", args{"path": "empty.txt"}, "(the file is empty)", false},
		{"empty lines", args{"path": "blank.txt"}, "     1→\n     2→", false},
		{"offset", args{"path": "two.txt", "offset": 2}, "     2→b", false},
		{"limit", args{"path": "two.txt", "limit": 1}, "     1→a\n(lines 1 to 1 of 2; go on with offset=2)", false},
		{"null", args{"path": "two.txt", "offset": nil, "limit": nil}, "     1→a\n     2→b", false},
		{"limit is the rest", args{"path": "two.txt", "offset": 2, "limit": 1}, "     2→b", false},
		{"bound", args{"path": "many.txt", "offset": 3},
			lines("     3→line 3", "     4→line 4", "     5→line 5", "     6→line 6", "     7→line 7", "(lines 3 to 7 of 12; go on with offset=8)"), true},
		{"long line", args{"path": "long.txt"},
			lines("     1→x", "     2→"+strings.Repeat("é", 1000)+"… (1000 more bytes)", "     3→z", "(1 long line cut after 2000 bytes; grep shows what is around a match)"), true},
		{"CRLF", args{"path": "crlf.txt"}, "     1→a\n     2→b\n(the lines end in CRLF; edit_file keeps that)", false},
		{"BOM", args{"path": "bom.txt"}, "     1→a\n(the file begins with a UTF-8 byte order mark, which edit_file keeps)", false},
		{"not UTF-8", args{"path": "latin.txt"}, "     1→café\n(the file is stored as windows-1252, which edit_file and write_file keep)", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := p.call("read_file", c.args)
			if r.IsError || r.Text != c.want || r.Truncated != c.truncated {
				t.Errorf("read_file(%v): error=%v truncated=%v\ngot:\n%s\nwant truncated=%v:\n%s", c.args, r.IsError, r.Truncated, r.Text, c.truncated, c.want)
			}
		})
	}
}

func TestReadFileRefuses(t *testing.T) {
	p := newPlace(t, nil, map[string]string{
		"a.txt":   "a\n",
		"bin":     "ab\x00cd",
		"dir/x":   "",
		"late.gz": strings.Repeat("a", 8191) + "\x00",
	})
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"path": ""}, "names no file"},
		{args{"path": "none.txt"}, "none.txt: file does not exist"},
		{args{"path": "a.txt/b"}, "a.txt/b: "},
		{args{"path": "dir"}, "it is a folder (list_dir"},
		{args{"path": "."}, "it is a folder"},
		{args{"path": "bin"}, "bin is a binary file of 5 B"},
		{args{"path": "late.gz"}, "binary file"},
		{args{"path": "a.txt", "offset": 2}, "offset 2 is beyond the end: a.txt has 1 line"},
		{args{"path": "a.txt", "offset": -1}, "counted from 1"},
		{args{"path": "a\x00b"}, "NUL"},
		{args{"path": "a.txt", "lines": 3}, "unknown key"},
	} {
		p.fails("read_file", c.args, c.want)
	}
}

// The byte bound holds for any content, and what comes out is UTF-8.
func TestReadFileByteBound(t *testing.T) {
	const bound = 1000
	p := newPlace(t, &tool.Options{MaxOutputBytes: bound}, map[string]string{
		"wide.txt": strings.Repeat(strings.Repeat("語", 30)+"\n", 100),
		"one.txt":  strings.Repeat("語", 10_000),
	})
	for _, name := range []string{"wide.txt", "one.txt"} {
		r := p.call("read_file", args{"path": name})
		if !r.Truncated || len(r.Text) > bound+200 || strings.ContainsRune(r.Text, '\uFFFD') || !strings.Contains(r.Text, "語") {
			t.Errorf("read_file(%s): truncated=%v, %d bytes, want a cut at %d bytes between characters:\n%s", name, r.Truncated, len(r.Text), bound, r.Text)
		}
	}
	if r := p.text("read_file", args{"path": "wide.txt", "offset": 100}); !strings.HasPrefix(r, "   100→語") {
		t.Errorf("read_file(wide.txt, offset=100): got %q", r)
	}
}

func BenchmarkReadFile(b *testing.B) {
	p := newPlace(b, nil, map[string]string{"many.txt": numbered(10_000)})
	for b.Loop() {
		p.text("read_file", args{"path": "many.txt", "offset": 5000})
	}
}
