package agentfile

import "testing"

// TestConflict: the markers of a merge that is not finished are found, and those of an example
// are not.
func TestConflict(t *testing.T) {
	const begin, middle, end = "<<<<<<< HEAD\n", "=======\n", ">>>>>>> theirs\n"
	for text, want := range map[string]int{
		"---\n" + begin + "description: a\n" + middle + "description: b\n" + end + "---\nx": 2,
		"---\ndescription: a\n---\nx\n" + begin + "a\n||||||| base\nb\n" + middle + end:     5,
		"---\ndescription: a\n---\n```\n" + begin + middle + end + "```\n":                  0,
		"---\ndescription: a\n---\nLook for <<<<<<< HEAD, ======= and >>>>>>> x.\n":         0,
		"---\ndescription: a\n---\n" + begin + "and nothing else\n":                         0,
		"---\ndescription: a\n---\nTitle\n" + middle + end:                                  0,
		"": 0,
	} {
		if got := conflict(text); got != want {
			t.Errorf("%q: line %d, want %d", text, got, want)
		}
	}
}
