package offlinemodel

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// evidenceOf makes evidence of lines "path:line: text", as grep returns them.
func evidenceOf(lines ...string) *evidence {
	return gather([]exchange{{call: call{tool: "grep"}, text: strings.Join(lines, "\n")}})
}

func TestRanking(t *testing.T) {
	for _, c := range []struct {
		why, prompt string
		lines       []string // the best one first
	}{
		{"a definition before a use", "where is the rebate", []string{
			"a.go:9: func Rebate() {", "a.go:90: x := Rebate()", "b.go:4: // see Rebate", "c.go:1: import \"rebate\"",
		}},
		{"two terms before one", "bulk rebate", []string{
			"z.go:5: if bulk && rebate {", "a.go:5: if bulk {",
		}},
		{"rare terms before common ones", "bulk rebate", []string{
			"z.go:5: x = rebate", "a.go:1: x = bulk", "b.go:20: x = bulk", "c.go:40: x = bulk", "d.go:60: x = bulk",
		}},
		{"source before tests, documents, samples, and what others made", "rebate", []string{
			"z.go:1: x = rebate", "doc.md:1: x = rebate", "a_test.go:1: x = rebate", "testdata/a.go:1: x = rebate", "vendor/a/a.go:1: x = rebate", ".env:1: x = rebate",
		}},
		{"tests where they are asked for", "tests of the rebate", []string{
			"a_test.go:1: x = rebate", "z.go:1: x = rebate",
		}},
		{"a path that holds the term", "rebate rules", []string{
			"z/rebate.go:1: rules()", "a/other.go:1: rules()",
		}},
		{"the folder that the prompt names", "rebate in src/core", []string{
			"src/core/x.go:1: x = rebate", "a/x.go:1: x = rebate",
		}},
		{"the word itself before another form", "decide", []string{
			"z.go:1: x = decide", "a.go:1: x = decision",
		}},
		{"the question itself comes last", "Where is the rebate decided?", []string{
			"z.go:1: rebate()", `a.go:1: ask("Where is the rebate decided?")`,
		}},
	} {
		q := parseQuery(c.prompt, "")
		ranked := newResearcher(&q, evidenceOf(c.lines...), "").places
		if len(ranked) == 0 {
			t.Errorf("%s: nothing ranked", c.why)
			continue
		}
		if got := fmt.Sprintf("%s:%d: %s", ranked[0].path, ranked[0].line, ranked[0].text); got != c.lines[0] {
			t.Errorf("%s: %q: %s is first (%.3f), want %s", c.why, c.prompt, got, ranked[0].score, c.lines[0])
		}
	}
}

func TestKindOrder(t *testing.T) {
	lines := []string{
		"z.go:1: x = rebate", "n.md:1: x = rebate", "m.yaml:1: x = rebate", "o_test.go:1: x = rebate", "testdata/p.go:1: x = rebate", "vendor/q.go:1: x = rebate", ".env:1: x = rebate",
	}
	q := parseQuery("rebate", "")
	for i, p := range newResearcher(&q, evidenceOf(lines...), "").places {
		if !strings.HasPrefix(lines[i], p.path+":") {
			t.Errorf("place %d is in %s, want %s", i, p.path, lines[i])
		}
	}
}

func TestKindOf(t *testing.T) {
	for path, want := range map[string]string{
		"permission/decide.go": "source", "src/latest.js": "source", "contest/main.py": "source", "Makefile": "source",
		"a/b_test.go": "test", "test_x.py": "test", "src/app.spec.ts": "test", "tests/conftest.py": "test", "src/FooTest.java": "test", "__tests__/a.js": "test",
		"README.md": "document", "README": "document", "docs/x.html": "document", "man/man1/x.1": "document",
		"config.yaml": "data", "package.json": "data", ".github/run": "data",
		"testdata/x.go": "sample", "examples/a/main.go": "sample",
		"vendor/a/b.go": "foreign", "node_modules/a/i.js": "foreign", "go.sum": "foreign", "package-lock.json": "foreign", "x.min.js": "foreign", "CHANGELOG.md": "foreign", "a.pb.go": "foreign", "LICENSE": "foreign",
		".env": "private", "keys/server.pem": "private", "id_rsa": "private", "a/secrets.yaml": "private",
	} {
		if got, _ := kindOf(path); got != want {
			t.Errorf("kindOf(%q) = %s, want %s", path, got, want)
		}
	}
}

func TestDefines(t *testing.T) {
	for _, c := range []struct{ file, line, want string }{
		{"a.go", "func (l *Layers) Decide(v []Value) Decision {", "Decide"},
		{"a.go", "func Load[T any](p string) (T, error) {", "Load"},
		{"a.go", "type Rule struct {", "Rule"},
		{"a.go", "const maxSteps = 4", "maxSteps"},
		{"a.go", "\tmaxReads     = 3 // places", "maxReads"},
		{"a.go", "\treturn Decide(v)", ""},
		{"a.go", "// func old() {", ""},
		{"a.go", "\tif x := Load(p); x != nil {", ""},
		{"a.py", "    async def fetch(self, url):", "fetch"},
		{"a.py", "class Loader(Base):", "Loader"},
		{"a.py", "MAX_SIZE: int = 3", "MAX_SIZE"},
		{"a.py", "    return load(x)", ""},
		{"a.js", "export default async function load (path) {", "load"},
		{"a.ts", "  private async loadAll(paths: string[]): Promise<void> {", "loadAll"},
		{"a.js", "const load = async (path) => {", "load"},
		{"a.js", "exports.load = function (path) {", "load"},
		{"a.js", "  if (load(path)) {", ""},
		{"a.js", "    for (const x of y) {", ""},
		{"a.ts", "export interface Options {", "Options"},
		{"a.rs", "pub(crate) fn load<T>(path: &Path) -> T {", "load"},
		{"a.rs", "impl<T> Loader for FileLoader<T> {", "FileLoader"},
		{"a.rs", "pub enum Action {", "Action"},
		{"A.java", "    public static List<String> load(Path path) throws IOException {", "load"},
		{"A.java", "        return load(path);", ""},
		{"A.java", "public final class Loader extends Base {", "Loader"},
		{"a.c", "static int load_file(const char *path)", "load_file"},
		{"a.c", "    load_file(path);", ""},
		{"a.c", "#define MAX_PATH 10", "MAX_PATH"},
		{"a.cpp", "std::string Loader::load(const Path& p) const {", "Loader::load"},
		{"a.rb", "  def self.load(path)", "load"},
		{"a.kt", "suspend fun load(path: String): Config {", "load"},
		{"a.php", "    public function load($path)", "load"},
		{"a.ex", "  defp load(path) do", "load"},
		{"README.md", "## How it loads", "How it loads"},
		{"a.yaml", "services:", "services"},
		{"Makefile", "build: all", "build"},
		{"Cargo.toml", "[dependencies]", "dependencies"},
		{"x.sql", "CREATE TABLE users (", "users"},
	} {
		if got, _ := defines(language(c.file), c.line); got != c.want {
			t.Errorf("defines(%q, %q) = %q, want %q", c.file, c.line, got, c.want)
		}
	}
}

func TestEvidenceIsLenient(t *testing.T) {
	for _, numbered := range []string{"     7→x = veto\n     8→}", "7\tx = veto\n8\t}", "7: x = veto\n8: }", "  7 | x = veto\n  8 | }", "7→x = veto\r\n8→}\r\n(the lines end in CRLF)"} {
		ev := gather([]exchange{{call: call{"read_file", arguments{Path: "a.go", Offset: 7}}, text: numbered}})
		f := ev.files["a.go"]
		if f == nil || strings.TrimSpace(f.lines[7]) != "x = veto" || f.lines[8] == "" || len(f.lines) != 2 {
			t.Errorf("%q: %+v, want lines 7 and 8", numbered, f)
		}
	}
	ev := evidenceOf(
		"a.go:1: x", "b c.go:22: y: 3: z", "(group)/p.tsx:4: w", "", "(no match)", "/etc/passwd:1: root", "../up.go:2: x", "d.go:x: y", "e.go-3- context", "f.go:9:", "--",
	)
	want := map[string]string{"a.go": "x", "b c.go": "y: 3: z", "(group)/p.tsx": "w", "f.go": ""}
	for path, text := range want {
		f := ev.files[path]
		if f == nil {
			t.Errorf("%s is not among the files", path)
			continue
		}
		for _, got := range f.lines {
			if got != text {
				t.Errorf("%s: line %q, want %q", path, got, text)
			}
		}
	}
	if len(ev.files) != len(want) {
		t.Errorf("%d files, want %d: %v", len(ev.files), len(want), ev.files)
	}
}

// What was read replaces what a search has shown of the same line, and a line
// that is not in the file any more is no place.
func TestReadLinesAreTruer(t *testing.T) {
	ev := gather([]exchange{
		{call: call{tool: "grep"}, text: "a.go:1: old rebate\na.go:2: x = rebate\na.go:9: gone rebate"},
		{call: call{"read_file", arguments{Path: "a.go"}}, text: "1→new\n2→y = rebate"},
	})
	q := parseQuery("rebate", "")
	ranked := newResearcher(&q, ev, "").places
	if len(ranked) != 1 || ranked[0].line != 2 || ranked[0].text != "y = rebate" {
		t.Errorf("places %+v, want line 2 alone, as it was read", ranked)
	}
}

func FuzzParseQuery(f *testing.F) {
	f.Add("Where is `a.b` in src/x.go:3?", "and res.json, \"two words\", --flag?")
	f.Add("你好 \xff ()[{*\\?", "")
	f.Fuzz(func(t *testing.T, prompt, earlier string) {
		q := parseQuery(prompt, earlier)
		if len(q.terms) > maxTerms || len(q.paths) > maxPaths {
			t.Errorf("%q: %d terms, %d paths", prompt, len(q.terms), len(q.paths))
		}
		newResearcher(&q, gather(nil), "")
		for _, term := range q.terms {
			if _, err := regexp.Compile(pattern(term)); err != nil {
				t.Errorf("%q: %v", prompt, err)
			}
		}
	})
}

func TestStem(t *testing.T) {
	for _, forms := range []string{"decide decided decides deciding decision", "config configuration configure cfg", "retry retries retried", "permit permission permitted",
		"stop stopped stopping", "policy policies", "directory dirs folder", "router routers", "request requests req"} {
		words := strings.Fields(forms)
		for _, w := range words[1:] {
			if stem(w) != stem(words[0]) {
				t.Errorf("stem(%q) = %q, stem(%q) = %q, want the same", w, stem(w), words[0], stem(words[0]))
			}
		}
	}
}
