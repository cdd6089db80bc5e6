package definition

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageFields holds that the page has each spelling of a field.
func TestPageFields(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "agent-files.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, f := range fields {
		for _, name := range f.Spellings {
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("the page does not have the field `%s`", name)
			}
		}
	}
}
