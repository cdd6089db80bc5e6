package agentdefs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readPage returns docs/agent-files.md.
func readPage(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "docs", "agent-files.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPageCodes holds that the page has a row for each code, as codes.go has it,
// and no other.
func TestPageCodes(t *testing.T) {
	source, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\tcode\w+ += "([^"]+)"$`).FindAllStringSubmatch(string(source), -1) {
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
	for _, c := range Codes() {
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

// TestPageNames holds that the page has each spelling of a field, and each name
// of a tool that is translated.
func TestPageNames(t *testing.T) {
	page := readPage(t)
	for _, names := range spellings {
		for _, name := range names {
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("the page does not have the field `%s`", name)
			}
		}
	}
	lower := strings.ToLower(page)
	for name := range counterparts {
		if !strings.Contains(lower, "`"+name+"`") {
			t.Errorf("the page does not have the tool `%s`", name)
		}
	}
	for group := range vscodeGroups {
		if !strings.Contains(page, "`"+group+"`") {
			t.Errorf("the page does not have the group `%s`", group)
		}
	}
}

// TestPageExamples loads the page's examples, which must be without fault.
func TestPageExamples(t *testing.T) {
	examples := regexp.MustCompile("(?ms)^```markdown\n(.*?)^```$").FindAllStringSubmatch(readPage(t), -1)
	if len(examples) < 2 {
		t.Fatalf("the page has %d examples, want a short and a full one", len(examples))
	}
	for _, m := range examples {
		res := parse("reviewer.md", []byte(m[1]), (*Options)(nil).complete())
		if res.def == nil || len(res.diagnostics) > 0 {
			t.Errorf("%s\nserved %v, diagnostics %v; want none", m[1], res.def != nil, res.diagnostics)
		}
	}
}
