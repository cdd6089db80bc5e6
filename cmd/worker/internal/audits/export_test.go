package audits

import "testing"

// TestCell: no cell is a formula for a spreadsheet.
func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "echo 1": "echo 1", "=1+1": "'=1+1", "+1": "'+1", "-rf": "'-rf", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "  =1": "'  =1",
		"\x1b=1": "'=1", "\r\n=1": "'\n=1", "a=1": "a=1", "＝1": "'＝1", "|calc": "'|calc",
	} {
		if got := cell(text); got != want {
			t.Errorf("cell(%q) = %q, want %q", text, got, want)
		}
	}
}
