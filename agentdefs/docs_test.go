package agentdefs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
)

// readPage returns a page of docs, by default the reference of agent files.
func readPage(t *testing.T, path ...string) string {
	t.Helper()
	if path == nil {
		path = []string{"reference", "agent-files.md"}
	}
	data, err := os.ReadFile(filepath.Join("..", "docs", filepath.Join(path...)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPageCodes holds that the page has a row for each code, as codes.go has it,
// and no other.
func TestPageCodes(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("internal", "diag", "codes.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t\w+ += "([^"]+)"$`).FindAllStringSubmatch(string(source), -1) {
		declared[m[1]] = true
	}
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\| (?:error|warning|information) \\|.*$").FindAllStringSubmatch(readPage(t), -1) {
		if rows[m[1]] != "" {
			t.Errorf("the page has %s twice", m[1])
		}
		rows[m[1]] = m[0]
	}
	cell := strings.NewReplacer("|", `\|`)
	for _, c := range diag.Codes() {
		want := fmt.Sprintf("| `%s` | %s | %s | %s |", c.ID, c.Severity, cell.Replace(c.Meaning), cell.Replace(c.Help))
		if rows[c.ID] != want {
			t.Errorf("the page says\n%s\nwant\n%s", rows[c.ID], want)
		}
		if !declared[c.ID] {
			t.Errorf("%s is there twice, or not declared", c.ID)
		}
		delete(declared, c.ID)
		delete(rows, c.ID)
	}
	for code := range declared {
		t.Errorf("codes.go does not say what %s means", code)
	}
	for code := range rows {
		t.Errorf("the page has %s, which is no code", code)
	}
}

// TestPageExamples loads the examples of the guide and the reference, which must
// be without fault.
func TestPageExamples(t *testing.T) {
	pages := readPage(t, "guide", "agents.md") + readPage(t)
	examples := regexp.MustCompile("(?ms)^```markdown\n(.*?)^```$").FindAllStringSubmatch(pages, -1)
	if len(examples) < 3 {
		t.Fatalf("the pages have %d examples, want short ones and a full one", len(examples))
	}
	for _, m := range examples {
		res := definition.Parse("reviewer.md", []byte(m[1]), definition.Options{})
		if res.Def == nil || len(res.Diagnostics) > 0 {
			t.Errorf("%s\nserved %v, diagnostics %v; want none", m[1], res.Def != nil, res.Diagnostics)
		}
	}
}

// TestPageLayouts compares the page with the table of layouts: places, makers and links.
func TestPageLayouts(t *testing.T) {
	page := readPage(t)
	for _, o := range dialect.All {
		row := regexp.MustCompile("(?m)^\\| `" + o.Name + "` \\|.*$").FindString(page)
		if row == "" {
			t.Errorf("the page has no row for %s", o.Name)
		}
		maker := o.Maker
		if o.Link != "" {
			maker = "[" + maker + "](" + o.Link + ")"
		}
		if maker == "" || !strings.HasSuffix(row, "| "+maker+" |") {
			t.Errorf("the row of %s does not say whose rule it is: %s", o.Name, maker)
		}
		for _, f := range o.Folders {
			if !strings.Contains(row, f.Shown) {
				t.Errorf("the row of %s does not have %s", o.Name, f.Shown)
			}
		}
		for _, l := range o.Lists {
			if !strings.Contains(row, "`"+l.Shown+"`") {
				t.Errorf("the row of %s does not have %s", o.Name, l.Shown)
			}
		}
	}
}
