package terminal

import (
	"strings"
	"testing"
)

func TestCells(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "grüße": 5, "日本": 4, "🎉": 2, "e\u0301": 1} {
		if got := Cells(text); got != want {
			t.Errorf("Cells(%q) = %d, want %d", text, got, want)
		}
	}
	for _, limit := range []int{1, 2, 3, 7, 20} {
		text := "日本語 and a_very_long_word_that_no_line_holds grüße 🎉"
		for _, line := range append(wrap(text, max(limit, 2)), Fit(text, limit), FitEnd(text, limit)) {
			if Cells(line) > max(limit, 2) {
				t.Errorf("limit %d: %q takes %d columns", limit, line, Cells(line))
			}
		}
		joined := strings.NewReplacer(" ", "").Replace
		if got := joined(strings.Join(wrap(text, max(limit, 2)), "")); got != joined(text) {
			t.Errorf("limit %d: wrapped it is %q", limit, got)
		}
	}
}
