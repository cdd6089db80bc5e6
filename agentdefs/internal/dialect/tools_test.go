package dialect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageTools holds that the page on agent files has each name of a tool that is
// translated.
func TestPageTools(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "agent-files.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
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
