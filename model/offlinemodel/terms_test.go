package offlinemodel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestParseQuery(t *testing.T) {
	for _, c := range []struct {
		prompt string
		terms  string // the strong ones
		paths  string
		usage  bool
	}{
		{"Where is the deny veto decided?", "deny veto decided", "", false},
		{"How does the config file get loaded?", "config loaded", "", false},
		{"find usages of ParseYAML", "ParseYAML", "", true},
		{"Who calls parse_yaml()?", "parse_yaml", "", true},
		{"What does cmd/worker/main.go do?", "main.go", "cmd/worker/main.go", false},
		{"read .env", ".env", ".env", false},
		{"Please read README.md and the Makefile.", "README.md Makefile", "README.md Makefile", false},
		{"explain tool/grep.go:47", "grep.go", "tool/grep.go:47", false},
		{"at src\\main\\App.java", "App.java", "src/main/App.java", false},
		{"what is in internal/workspace/?", "", "internal/workspace", false},
		{"How are locks taken in tool/?", "locks", "tool", false},
		{"How are read/write locks taken?", "locks", "read/write", false},
		{"usages of session.Loop", "session.Loop Loop", "", true},
		{"What does std::vector::push_back do?", "std::vector::push_back push_back", "", false},
		{`Where is "no such agent" printed?`, "no such agent|printed", "", false},
		{"where's the `retry` policy?", "retry policy", "", false},
		{"doesn't the user's session expire?", "user session expire", "", false},
		{"Is Node.js needed, e.g. for https://example.com/a/b.js?", "Node.js js", "", false},
		{"What handles the always-approve button?", "handles always-approve approve button", "", false},
		{"the --state-dir flag", "state-dir state dir flag", "", false},
		{"HTTP 404 in the UI", "HTTP 404 UI", "", false},
		{"What is this repository?", "", "", false},
		{"Wo wird die Konfiguration geladen?", "Konfiguration geladen", "", false},
		{"权限在哪里决定", "权限在哪里决定", "", false},
		{"", "", "", false},
	} {
		q := parseQuery(c.prompt, "")
		var terms, paths []string
		for _, x := range q.strong() {
			terms = append(terms, x.text)
		}
		for _, p := range q.paths {
			s := p.path
			if p.line > 0 {
				s += fmt.Sprintf(":%d", p.line)
			}
			paths = append(paths, s)
		}
		sep := " "
		if strings.Contains(c.terms, "|") {
			sep = "|"
		}
		if got := strings.Join(terms, sep); got != c.terms {
			t.Errorf("%q: terms %q, want %q", c.prompt, got, c.terms)
		}
		if got := strings.Join(paths, " "); got != c.paths {
			t.Errorf("%q: paths %q, want %q", c.prompt, got, c.paths)
		}
		if q.usage != c.usage {
			t.Errorf("%q: usage %v, want %v", c.prompt, q.usage, c.usage)
		}
	}
}

func TestEarlierPromptFillsIn(t *testing.T) {
	q := parseQuery("And its tests?", "Where is the deny veto decided?")
	if len(q.strong()) != 3 || !q.tests {
		t.Errorf("terms %v, tests %v, want the three of the prompt before", q.strong(), q.tests)
	}
	if q = parseQuery("Where is ParseYAML called in loader.go?", "Where is the deny veto decided?"); slices.ContainsFunc(q.terms, func(x term) bool { return x.text == "veto" }) {
		t.Errorf("terms %v, want none of the prompt before", q.terms)
	}
}

func TestLongPromptIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "word%c%c thing_%d pkg/file%d.go ", 'a'+i%26, 'a'+i/26%26, i, i)
	}
	q := parseQuery(b.String(), "")
	if len(q.terms) > maxTerms || len(q.strong()) > maxStrong || len(q.paths) > maxPaths {
		t.Errorf("%d terms, %d strong, %d paths, want at most %d, %d, %d", len(q.terms), len(q.strong()), len(q.paths), maxTerms, maxStrong, maxPaths)
	}
}

func TestTermFinds(t *testing.T) {
	for _, c := range []struct{ prompt, yes, no string }{
		{"decided", "decide|Decision|func decideNow|DECIDED|deciding", "decimal|indecent"},
		{"denied", "deny|Denied|isDenied|denial", "identity|sudden"},
		{"loaded", "Load(|reloadAll|loader|preLoad|LOAD_ALL", "cloud"},
		{"configuration", "config|readConfig|cfg|CFG_PATH|Configure|conf.d", "confirm|confuse"},
		{"permitted", "permission|permit|Permissions", "perimeter"},
		{"permissions", "permit|permission", "perimeter"},
		{"retries", "retry|Retrier|maxRetries|RETRY", "retina"},
		{"running", "run|Runner|onRun|re_run", "truncate|prune"},
		{"servers", "server|newServer", "service"},
		{"exceeds", "exceed|exceeded", "except|excerpt"},
		{"embedded", "embed|Embedded|go:embed", "member"},
		{"identifiers", "identifier", "identity"},
		{"authentication", "auth|Authenticate|authz", "mouth"},
		{"databases", "database|db.Query|openDB|user_db", "dbl"},
		{"ParseYAML", "ParseYAML(|parse_yaml|parseYaml|parse-yaml|MyParseYAML2", "parse the yaml|YAMLParse"},
		{"`Load`", "Load(|cfg.load", "reload|Loader"},
		{`"not found"`, "is not found|NOT  FOUND", "notfound"},
		{"session.Loop", "session.Loop{|session::loop|type Loop struct", "looped"},
		{"watch-dir", "watchDir|watch_dir|watch|dirs", "dirty"},
	} {
		q := parseQuery(c.prompt, "")
		for _, line := range strings.Split(c.yes, "|") {
			if q.matches(line).set == 0 {
				t.Errorf("%q does not find %q; its terms: %+v", c.prompt, line, q.terms)
			}
			if !slices.ContainsFunc(q.terms, func(x term) bool { return regexp.MustCompile("(?i)" + x.pattern).MatchString(line) }) {
				t.Errorf("%q: no search finds %q; its terms: %+v", c.prompt, line, q.terms)
			}
		}
		for _, line := range strings.Split(c.no, "|") {
			for i, x := range q.terms {
				if !q.matches(line).set.has(i) || x.weak {
					continue
				}
				t.Errorf("%q finds %q; its terms: %+v", c.prompt, line, q.terms)
			}
		}
	}
}

func TestSubwords(t *testing.T) {
	for text, want := range map[string]string{
		"ParseYAMLFile":   "parse yaml file",
		"parse_yaml-file": "parse yaml file",
		"HTTP2Server":     "http2 server",
		"x := fooBar(1)":  "x foo bar 1",
		"größeÄndern":     "größe ändern",
		"":                "",
	} {
		if got := strings.Join(subwords(text), " "); got != want {
			t.Errorf("subwords(%q) = %q, want %q", text, got, want)
		}
	}
}

// Whatever is asked, each pattern is one that a grep tool takes.
func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{"Where is the deny veto?", "`a(b` \"c [d\" e::f ../g.go:9 --h $i @j", "ﬁ ǅ İ K ß", "x.y.z() 'q' “r s”"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		q := parseQuery(prompt, "")
		for _, x := range q.terms {
			if _, err := regexp.Compile("(?i)" + x.pattern); err != nil || x.match == nil {
				t.Errorf("%q: term %+v: %v", prompt, x, err)
			}
		}
		for _, p := range []string{definitionPattern(q.strong()), pairPattern(q.strong())} {
			if _, err := regexp.Compile("(?i)" + p); err != nil || len(p) > maxPattern {
				t.Errorf("%q: pattern %q: %v", prompt, p, err)
			}
		}
		q.matches(prompt)
	})
}
