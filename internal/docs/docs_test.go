// Package docs holds the documentation against the code: its links, the pages
// that the code names, flags, events, default rules, and the README's agent file.
package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/permission"
)

var root = os.DirFS(filepath.Join("..", ".."))

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := fs.ReadFile(root, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// files returns the repository's files that end in ext, without those of
// testdata and hidden folders.
func files(t *testing.T, ext string) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case !d.IsDir() && path.Ext(name) == ext:
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// fences matches a block of code.
var fences = regexp.MustCompile("(?ms)^(````|```)[a-z]*$.*?^(````|```)$")

// anchors returns the anchors of a page's headings, as GitHub makes them.
func anchors(page string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(fences.ReplaceAllString(page, ""), -1) {
		kept := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(kept, " ", "-"))
	}
	return all
}

func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, name := range files(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(fences.ReplaceAllString(read(t, name), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := fs.Stat(root, target); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, m[1])
			} else if anchor != "" && !slices.Contains(anchors(read(t, target)), anchor) {
				t.Errorf("%s: %s has no heading #%s", name, target, anchor)
			}
		}
	}
}

// TestIndex holds that docs/README.md leads to each page.
func TestIndex(t *testing.T) {
	index := read(t, "docs/README.md")
	for _, name := range files(t, ".md") {
		if page, ok := strings.CutPrefix(name, "docs/"); ok && page != "README.md" && !strings.Contains(index, "]("+page) {
			t.Errorf("docs/README.md has no link to %s", page)
		}
	}
}

// TestPaths holds that the pages which code and its messages name are there.
func TestPaths(t *testing.T) {
	named := regexp.MustCompile(`\bdocs/[a-z/-]+\.(?:md|py)`)
	for _, name := range files(t, ".go") {
		for _, target := range named.FindAllString(read(t, name), -1) {
			if _, err := fs.Stat(root, target); err != nil && !strings.HasPrefix(name, "model/offlinemodel/") && !strings.HasPrefix(name, "permission/") {
				t.Errorf("%s names %s, which is not there", name, target)
			}
		}
	}
}

// TestFlags holds that the reference has each flag of the program.
func TestFlags(t *testing.T) {
	var reference strings.Builder
	for _, name := range files(t, ".md") {
		if strings.HasPrefix(name, "docs/reference/") {
			reference.WriteString(read(t, name))
		}
	}
	flag := regexp.MustCompile(`\.[A-Z]?\w*VarP?\([^"\n]*, "([a-z-]+)"`)
	count := 0
	for _, name := range files(t, ".go") {
		if !strings.HasPrefix(name, "cmd/worker/") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range flag.FindAllStringSubmatch(read(t, name), -1) {
			count++
			if !regexp.MustCompile("--" + m[1] + `\b[^-]`).MatchString(reference.String()) {
				t.Errorf("%s: docs/reference does not have --%s", name, m[1])
			}
		}
	}
	if count < 40 {
		t.Errorf("%d flags were found in the source, want all", count)
	}
}

// TestEvents holds that the reference has a row for each event, with its fields.
func TestEvents(t *testing.T) {
	source, page := "", read(t, "docs/reference/events.md")
	for _, name := range files(t, ".go") {
		if strings.HasPrefix(name, "eventbus/event/") {
			source += read(t, name)
		}
	}
	types := regexp.MustCompile(`(?m)^func \((\w+)\) Type\(\) string +\{ return "(\w+)" \}$`).FindAllStringSubmatch(source, -1)
	if len(types) < 15 {
		t.Fatalf("%d events were found in the source, want all", len(types))
	}
	for _, m := range types {
		row := regexp.MustCompile("(?m)^\\| `" + m[2] + "` \\|.*$").FindString(page)
		if row == "" {
			t.Errorf("the reference has no event %s", m[2])
			continue
		}
		if ev, err := event.Decode([]byte(`{"type":"` + m[2] + `"}`)); err != nil || ev.Type() != m[2] {
			t.Errorf("%s decodes as %v, %v", m[2], ev, err)
		} else if _, unknown := ev.(event.Unknown); unknown {
			t.Errorf("%s is an event that Decode does not know", m[2])
		}
		_, fields, _ := strings.Cut(source, "\ntype "+m[1]+" struct {\n")
		fields, _, _ = strings.Cut(fields, "\n}")
		for _, field := range regexp.MustCompile(`json:"(\w+)`).FindAllStringSubmatch(fields, -1) {
			if !regexp.MustCompile(`\b` + field[1] + `\b`).MatchString(row) {
				t.Errorf("the reference's row of %s does not have %s", m[2], field[1])
			}
		}
	}
}

// TestDefaults holds that the reference shows the rules that a workspace begins
// with.
func TestDefaults(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/reference/permissions.md"), "\n## permissions.jsonc\n")
	_, block, _ := strings.Cut(section, "```jsonc\n")
	block, _, _ = strings.Cut(block, "```")
	shown, err := permission.ParseJSON([]byte(block), "docs/reference/permissions.md", nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func(rules *permission.Ruleset) []string {
		var all []string
		for r := range rules.Rules() {
			all = append(all, r.String())
		}
		return all
	}
	if got, want := text(shown), text(permission.Defaults()); !slices.Equal(got, want) {
		t.Errorf("the reference shows %q, want %q", got, want)
	}
}

// TestReadme holds that the README shows the agent file of a script that has it
// served.
func TestReadme(t *testing.T) {
	readme := read(t, "README.md")
	files := txtar.Parse([]byte(read(t, "cmd/worker/testdata/script/readme.txtar"))).Files
	at := slices.IndexFunc(files, func(f txtar.File) bool { return f.Name == "shop/.agents/agents/reviewer.md" })
	if at < 0 || !strings.Contains(readme, "```markdown\n"+string(files[at].Data)+"```") {
		t.Error("the README does not show the agent file of readme.txtar")
	}
}
