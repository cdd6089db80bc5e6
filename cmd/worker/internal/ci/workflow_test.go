package ci

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// commands finds the commands of a log as GitHub's runner does: in lines that begin with
// two colons, once blanks are cut off, and behind "##[" anywhere.
func commands(log string) []string {
	var found []string
	for line := range strings.SplitSeq(strings.ReplaceAll(log, "\r", "\n"), "\n") {
		if strings.HasPrefix(strings.TrimFunc(line, unicode.IsSpace), "::") || older.MatchString(line) {
			found = append(found, line)
		}
	}
	return found
}

var older = regexp.MustCompile(`##([a-zA-Z]+)?\[`)

func TestGuard(t *testing.T) {
	for in, want := range map[string]string{
		"::add-mask::x\n":                ": :add-mask::x\n",
		"a ::error::x\n \t::error::y\n":  "a ::error::x\n \t: :error::y\n",
		"\u2003::stop-commands::x":       "\u2003: :stop-commands::x",
		"a\r::set-output name=a::b":      "a\r: :set-output name=a::b",
		":::x\n: ::x":                    ": ::x\n: ::x",
		"see ##[group]x ###[error]y":     "see ## [group]x ### [error]y",
		"##vso[task.x] # Head [a] ##a#[": "##vso [task.x] # Head [a] ##a#[",
		"plain: text\na::b":              "plain: text\na::b",
	} {
		var all, bits bytes.Buffer
		g := Guard(&bits)
		if _, err := io.WriteString(Guard(&all), in); err != nil {
			t.Fatal(err)
		}
		for i := range len(in) {
			if n, err := g.Write([]byte{in[i]}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if all.String() != want || bits.String() != want {
			t.Errorf("%q: %q, and byte by byte %q, want %q", in, all.String(), bits.String(), want)
		}
	}
	var out bytes.Buffer
	if Raw(Guard(&out)) != io.Writer(&out) || Raw(&out) != io.Writer(&out) || JSON(&out) != io.Writer(&out) {
		t.Error("Raw or JSON of what is no guard")
	}
}

// FuzzGuard: no command comes through, as text, within JSON or in an annotation, and JSON
// stays what it was.
func FuzzGuard(f *testing.F) {
	f.Add("::add-mask::x\n##[group]", "a,b:c\n::x", uint8(3))
	f.Add("\r\n \u00a0::stop-commands::t\r::t::", "##[error]", uint8(1))
	f.Fuzz(func(t *testing.T, text, other string, cut uint8) {
		var out bytes.Buffer
		g := Guard(&out)
		at := min(int(cut), len(text))
		for _, part := range []string{text[:at], text[at:], "\n", other} {
			if _, err := io.WriteString(g, part); err != nil {
				t.Fatal(err)
			}
		}
		if found := commands(out.String()); len(found) > 0 {
			t.Errorf("%q came through as %q", text, found)
		}
		if got := strings.NewReplacer(" ", "").Replace(out.String()); got != strings.NewReplacer(" ", "").Replace(text+"\n"+other) {
			t.Errorf("%q became %q", text+"\n"+other, out.String())
		}
		annotation := Annotation("warning", Location{File: text, Line: 1}, other, text)
		if found := commands(annotation); len(found) != 1 || found[0] != annotation || older.MatchString(annotation) {
			t.Errorf("the annotation has the commands %q", found)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(annotation, "::warning file="), ",line=1,title=")
		if strings.ContainsAny(name, ",:") {
			t.Errorf("the file is %q", name)
		}
		out.Reset()
		enc := json.NewEncoder(JSON(g))
		enc.SetEscapeHTML(false)
		if err := enc.Encode([]string{text}); err != nil {
			t.Fatal(err)
		}
		before, err := json.Marshal([]string{text})
		var was, is []string
		if err != nil || json.Unmarshal(before, &was) != nil || json.Unmarshal(out.Bytes(), &is) != nil || was[0] != is[0] {
			t.Errorf("JSON: %s became %s", before, out.Bytes())
		}
		if found := commands(out.String()); len(found) > 0 {
			t.Errorf("JSON: %q", found)
		}
	})
}
