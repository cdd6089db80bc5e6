package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindings: the places of an answer that are in the workspace, each once, and which
// of them are errors.
func TestFindings(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "src", "a.go"), []byte(strings.Repeat("x\n", 9)), 0o644); err != nil {
		t.Fatal(err)
	}
	answer := `It has highlights, see src/a.go:1.
1. **HIGH** ` + "`src/a.go:2`" + ` leaks
- src/a.go:3: error: wrong
* ` + filepath.ToSlash(dir) + `/src/a.go:4 an error is not handled
- src/a.go:3 again, src/none.go:1, ../out.go:1, src/a.go:10, src/a.go:0

# SUMMARY
x
# RISKS
src/a.go:5 may break
# BLOCKERS
- src/a.go:6 does not compile
`
	var got []string
	for _, f := range Findings(dir, answer) {
		got = append(got, fmt.Sprintf("%s:%d %v %s", f.Path, f.Line, f.Severe, f.Text))
	}
	want := []string{
		"src/a.go:1 false It has highlights, see src/a.go:1.",
		"src/a.go:2 true **HIGH** `src/a.go:2` leaks",
		"src/a.go:3 true src/a.go:3: error: wrong",
		"src/a.go:4 false " + filepath.ToSlash(dir) + "/src/a.go:4 an error is not handled",
		"src/a.go:5 false src/a.go:5 may break",
		"src/a.go:6 true src/a.go:6 does not compile",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if Findings(filepath.Join(dir, "none"), answer) != nil {
		t.Error("places in no folder")
	}
}
