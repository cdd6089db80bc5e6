package terminal

import (
	"strings"
	"testing"
)

// TestTable: at whatever width a row fits, and nothing of what is shown is cut.
func TestTable(t *testing.T) {
	for _, columns := range []int{40, 60, 80, 200} {
		var out strings.Builder
		tab := &Table{Header: []string{"NAME", "MODE", "SOURCE", "STATE", "DESCRIPTION"}, Drop: []string{"MODE", "SOURCE"}}
		tab.Add("reviewer", "subagent", ".agents/agents/reviewer.md", "ok", "Reviews the changes of a branch and says what is wrong with them.")
		left, err := tab.Print(&out, Output{Columns: func() int { return columns }}, false)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if Cells(line) > columns {
				t.Errorf("at %d columns: %q takes %d", columns, line, Cells(line))
			}
		}
		if strings.Contains(out.String(), "…") || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), "with them.") {
			t.Errorf("at %d columns:\n%s", columns, out.String())
		}
		if (len(left) > 0) != (columns < 80) {
			t.Errorf("at %d columns it leaves out %q", columns, left)
		}
	}
}
