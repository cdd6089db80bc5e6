package patch

import (
	"reflect"
	"strings"
	"testing"
)

// wrapped returns a patch with a body.
func wrapped(body string) string { return begin + "\n" + body + "\n" + end }

func changed(path string, hunks ...Hunk) File { return File{Op: Update, Path: path, Hunks: hunks} }

func hunkOf(context string, lines ...string) Hunk {
	h := Hunk{}
	if context != "" {
		h.Contexts = []string{context}
	}
	for _, line := range lines {
		h.Lines = append(h.Lines, Line{line[0], line[1:]})
	}
	return h
}

// TestParse has the cases of the tests in https://github.com/openai/codex,
// codex-rs/apply-patch/src/parser.rs, and those in which this package differs.
func TestParse(t *testing.T) {
	bar := []File{changed("file2.py", hunkOf("", " import foo", "+bar"))}
	const barPatch = "*** Begin Patch\n*** Update File: file2.py\n import foo\n+bar\n*** End Patch"
	for _, c := range []struct {
		name, patch string
		want        []File
		err         string
	}{
		{"no patch", "bad", nil, `the first line of a patch is "*** Begin Patch", and not "bad"`},
		{"no end", "*** Begin Patch\nbad", nil, "the patch is cut off"},
		{"begin alone", "*** Begin Patch", nil, "the patch is cut off"},
		{"nothing", "", nil, "the first line of a patch"},
		{"white space around markers", "*** Begin Patch \n*** Add File: foo\n+hi\n *** End Patch", []File{{Op: Add, Path: "foo", Text: "hi\n"}}, ""},
		{"white space around a header", wrapped("  *** Update File: foo \n@@\n-a\n+b"), []File{changed("foo", hunkOf("", "-a", "+b"))}, ""},
		{"update without a change", wrapped("*** Update File: test.py"), nil, `line 2 of the patch: it changes nothing of "test.py"`},
		{"no files", "*** Begin Patch\n*** End Patch", nil, "it names no file"},
		{"one of each", wrapped("*** Add File: path/add.py\n+abc\n+def\n*** Delete File: path/delete.py\n*** Update File: path/update.py\n" +
			"*** Move to: path/update2.py\n@@ def f():\n-    pass\n+    return 123"), []File{
			{Op: Add, Path: "path/add.py", Text: "abc\ndef\n"}, {Op: Delete, Path: "path/delete.py"},
			{Op: Update, Path: "path/update.py", MoveTo: "path/update2.py", Hunks: []Hunk{hunkOf("def f():", "-    pass", "+    return 123")}},
		}, ""},
		{"a hunk before another file", wrapped("*** Update File: file.py\n@@\n+line\n*** Add File: other.py\n+content"), []File{
			changed("file.py", hunkOf("", "+line")), {Op: Add, Path: "other.py", Text: "content\n"},
		}, ""},
		{"no @@ of the first hunk", barPatch, bar, ""},
		{"here-document", "<<EOF\n" + barPatch + "\nEOF\n", bar, ""},
		{"quoted here-document", "<<'EOF'\n" + barPatch + "\nEOF\n", bar, ""},
		{"here-document in double quotes", "<<\"EOF\"\n" + barPatch + "\nEOF\n", bar, ""},
		{"here-document in two kinds of quotes", "<<\"EOF'\n" + barPatch + "\nEOF\n", nil, "the first line of a patch"},
		{"here-document that is cut off", "<<EOF\n*** Begin Patch\n*** Update File: file2.py\nEOF\n", nil, "the patch is cut off"},
		{"bad header", wrapped("bad"), nil, `line 2 of the patch: "bad" is no header: write "*** Add File:", "*** Delete File:" or "*** Update File:"`},
		{"unknown header", wrapped("*** Frobnicate File: foo"), nil, "is no header"},
		{"second hunk without @@", wrapped("*** Update File: f\n@@\n-a\n+b\nbad"), nil, `line 6 of the patch: "bad" begins no hunk`},
		{"hunk without lines", wrapped("*** Update File: f\n@@"), nil, "line 3 of the patch: the hunk has no lines"},
		{"bad line", wrapped("*** Update File: f\n@@\nbad"), nil, `line 4 of the patch: "bad": each line of a hunk begins with`},
		{"end of file without lines", wrapped("*** Update File: f\n@@\n*** End of File"), nil, "line 3 of the patch: the hunk has no lines"},
		{"empty line for empty context", wrapped("*** Update File: f\n@@ change_context\n\n context\n-remove\n+add\n context2"), []File{
			changed("f", hunkOf("change_context", " ", " context", "-remove", "+add", " context2")),
		}, ""},
		{"end of file", wrapped("*** Update File: f\n@@\n+line\n*** End of File"), []File{
			changed("f", Hunk{Lines: []Line{{'+', "line"}}, AtEnd: true}),
		}, ""},
		{"several contexts", wrapped("*** Update File: f\n@@ class A\n@@ \t def b():\n-a\n+b"), []File{
			changed("f", Hunk{Contexts: []string{"class A", "\t def b():"}, Lines: []Line{{'-', "a"}, {'+', "b"}}}),
		}, ""},
		{"moved as it is", wrapped("*** Update File: a\n*** Move to: b"), []File{{Op: Update, Path: "a", MoveTo: "b"}}, ""},
		{"empty file", wrapped("*** Add File: a"), []File{{Op: Add, Path: "a"}}, ""},
		{"CRLF", "*** Begin Patch\r\n*** Add File: a\r\n+b\r\n*** End Patch\r\n", []File{{Op: Add, Path: "a", Text: "b\n"}}, ""},
		{"no path", wrapped("*** Delete File: "), nil, "the path is missing"},
		{"no new path", wrapped("*** Update File: a\n*** Move to: \n@@\n-a\n+b"), nil, "line 3 of the patch: the path is missing"},
		{"too many files", wrapped(strings.Repeat("*** Delete File: a\n", MaxFiles+1)), nil, "more than 100 files"},
	} {
		got, err := Parse(c.patch)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, %v; want the error %q", c.name, got, err, c.err)
			}
			continue
		}
		for i := range got {
			got[i].Line = 0
			for j := range got[i].Hunks {
				got[i].Hunks[j].Line = 0
			}
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

// TestApply has the cases of the tests in https://github.com/openai/codex,
// codex-rs/apply-patch/src/lib.rs and tests/fixtures/scenarios, and those in which this package
// differs.
func TestApply(t *testing.T) {
	for _, c := range []struct{ name, text, hunks, want, err string }{
		{"update", "foo\nbar\n", "@@\n foo\n-bar\n+baz", "foo\nbaz\n", ""},
		{"two hunks", "foo\nbar\nbaz\nqux\n", "@@\n foo\n-bar\n+BAR\n@@\n baz\n-qux\n+QUX", "foo\nBAR\nbaz\nQUX\n", ""},
		{"several places", "a\nb\nc\nd\ne\nf\n", "@@\n a\n-b\n+B\n@@\n c\n d\n-e\n+E\n@@\n f\n+g\n*** End of File", "a\nB\nc\nd\nE\nf\ng\n", ""},
		{"CRLF", "a\r\nb\r\nc\r\n", "@@\n a\n-b\n+B\n@@\n c\n+d\n*** End of File", "a\r\nB\r\nc\r\nd\r\n", ""},
		{"CR within CRLF lines", "foo\r\r\nbar\r\n", "@@\n+BAZ\n*** End of File", "foo\r\r\nbar\r\nBAZ\r\n", ""},
		{"addition before a removal", "line1\nline2\nline3\n", "@@\n+after-context\n+second-line\n@@\n line1\n-line2\n-line3\n+line2-replacement",
			"line1\nline2-replacement\nafter-context\nsecond-line\n", ""},
		{"dashes", "import asyncio  # local import \u2013 avoids top\u2011level dep\n", "@@\n-import asyncio  # local import - avoids top-level dep\n+import asyncio  # HELLO",
			"import asyncio  # HELLO\n", ""},
		{"first line", "foo\nbar\nbaz\n", "@@\n-foo\n+FOO\n bar\n", "FOO\nbar\nbaz\n", ""},
		{"last line", "foo\nbar\nbaz\n", "@@\n foo\n bar\n-baz\n+BAZ\n", "foo\nbar\nBAZ\n", ""},
		{"at the end", "foo\nbar\nbaz\n", "@@\n+quux\n*** End of File\n", "foo\nbar\nbaz\nquux\n", ""},
		{"last line gets an end", "no newline at end", "@@\n-no newline at end\n+first line\n+second line", "first line\nsecond line\n", ""},
		{"pure addition", "line1\nline2\n", "@@\n+added line 1\n+added line 2", "line1\nline2\nadded line 1\nadded line 2\n", ""},
		{"removal", "line1\nline2\nline3\n", "@@\n line1\n-line2\n line3", "line1\nline3\n", ""},
		{"end of file", "first\nsecond\n", "@@\n first\n-second\n+second updated\n*** End of File", "first\nsecond updated\n", ""},
		{"accents", "line1\nnaïve café\nline3\n", "@@\n line1\n-naïve café\n+naïve café ✅", "line1\nnaïve café ✅\nline3\n", ""},
		{"missing lines", "line1\nline2\n", "@@\n-missing\n+changed", "", "line 3 of the patch: these lines are not in the file:\nmissing\nRead the file again"},
		{"more lines than the file", "just one line\n", "@@\n-too\n-many\n-lines", "", "these lines are not in the file"},
		{"white space at the ends of lines", "foo   \nbar\t\t\n", "@@\n-foo\n-bar\n+baz", "baz\n", ""},
		{"white space around lines", "    foo   \n   bar\t\n", "@@\n foo\n-bar\n+baz", "    foo   \nbaz\n", ""},
		{"the end of the last line as a line", "a\nb\n", "@@\n a\n-b\n+c\n \n*** End of File", "a\nc\n", ""},

		{"context stays as it is", "\tif x \u2013 y {\n\t\ta()\n", "@@\n if x - y {\n-\t\ta()\n+\t\tb()", "\tif x \u2013 y {\n\t\tb()\n", ""},
		{"addition below its context", "def f():\n    pass\ndef g():\n    pass\n", "@@ def g():\n+    x = 1", "def f():\n    pass\ndef g():\n    x = 1\n    pass\n", ""},
		{"contexts", "class A:\n  def f():\n    a\nclass B:\n  def f():\n    a\n", "@@ class B:\n@@   def f():\n-    a\n+    b", "class A:\n  def f():\n    a\nclass B:\n  def f():\n    b\n", ""},
		{"missing context", "a\n", "@@ class B\n-a\n+b", "", `line 3 of the patch: the context "class B" is not in the file`},
		{"wrong order", "a\nb\nc\n", "@@\n-c\n+C\n@@\n-a\n+A", "", "They stand at line 1: write hunks in the order of the file"},
		{"no line end stays", "a\nb", "@@\n-a\n+A", "A\nb", ""},
		{"behind a last line without an end", "a", "@@\n a\n+b", "a\nb\n", ""},
		{"mark", mark + "a\nb\n", "@@\n-a\n+A", mark + "A\nb\n", ""},
		{"empty file", "", "@@\n+a", "a\n", ""},
		{"all lines", "a\n", "@@\n-a", "", ""},
		{"blank lines behind a hunk", "a\nb\n", "@@\n-a\n+A\n\n", "A\nb\n", ""},
		{"the same lines twice", "a\nx\na\nx\n", "@@\n a\n-x\n+y\n@@\n a\n-x\n+z", "a\ny\na\nz\n", ""},
		{"not at the end, as was said", "a\nb\nc\n", "@@\n-b\n+B\n*** End of File", "a\nB\nc\n", ""},
	} {
		files, err := Parse(wrapped("*** Update File: f\n" + c.hunks))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := Apply(c.text, files[0].Hunks)
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || c.err == "" && (err != nil || got != c.want) {
			t.Errorf("%s: %q, %v; want %q, %q", c.name, got, err, c.want, c.err)
		}
	}
}

// TestWork holds that a patch that fits many places almost takes no long time.
func TestWork(t *testing.T) {
	hunks := []Hunk{hunkOf("", strings.Split(strings.Repeat(" a\n", 5000)+"-b", "\n")...)}
	if _, err := Apply(strings.Repeat("a\n", 1_000_000), hunks); err != errWork {
		t.Errorf("%v, want %v", err, errWork)
	}
}

// FuzzPatch holds that no patch ends the program, and that lines which no hunk removes stay.
func FuzzPatch(f *testing.F) {
	f.Add("a\nb\n", wrapped("*** Update File: f\n@@ a\n-b\n+c"))
	f.Add("a\r\nb", wrapped("*** Update File: f\n*** Move to: g\n b\n+c\n*** End of File"))
	f.Add("", wrapped("*** Add File: f\n+c\n*** Delete File: g"))
	f.Fuzz(func(t *testing.T, text, patch string) {
		files, err := Parse(patch)
		if err != nil {
			return
		}
		for _, file := range files {
			if file.Path == "" || file.Op == Update && len(file.Hunks) == 0 && file.MoveTo == "" {
				t.Fatalf("%q: %+v", patch, file)
			}
			got, err := Apply(text, file.Hunks)
			if err != nil {
				continue
			}
			removed, added := 0, 0
			for _, h := range file.Hunks {
				for _, line := range h.Lines {
					removed += strings.Count(string(line.Kind), "-")
					added += strings.Count(string(line.Kind), "+")
				}
			}
			count := func(s string) (n int) {
				for range strings.Lines(strings.TrimPrefix(s, mark)) {
					n++
				}
				return n
			}
			// An empty line that stood for the end of a hunk is left out.
			if n := count(got) - count(text); n > added || n < -removed {
				t.Errorf("%q with %q: %q has %d lines more, want %d to %d", text, patch, got, n, -removed, added)
			}
		}
	})
}
