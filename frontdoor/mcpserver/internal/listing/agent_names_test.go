package listing

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestToolNames(t *testing.T) {
	long := strings.Repeat("a", 60)
	agents := []string{"reviewer", "code-review_2", "Reviewer", "über prüfer", "wait", long, "s_list", "x_deadbeef"}
	want := []string{
		"agent_reviewer", "agent_code-review_2", "agent_reviewer_d29f4677", "agent__ber_pr_fer_f5cbb025", "agent_wait",
		"agent_" + long[:33] + "_11ee3912", "agent_s_list", "agent_x_deadbeef_74fd2622",
	}
	if got := toolNames(agents); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

var valid = regexp.MustCompile(`^agent_[a-z0-9_-]{0,42}$`)

// FuzzToolNames: the tools of agents with any names have distinct names, which all hosts
// accept and no other tool has.
func FuzzToolNames(f *testing.F) {
	f.Add("a", "A", "a_b")
	f.Add("x y", "x_y", "x_y_12345678")
	f.Add("\xff", "", "_")
	f.Add(strings.Repeat("é", 100), strings.Repeat("é", 101), "s_list")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		agents := []string{a, b, c}
		// Names that make it hard: those of the tools of others.
		for _, tool := range toolNames(agents) {
			agents = append(agents, strings.TrimPrefix(tool, agentPrefix))
		}
		slices.Sort(agents)
		agents = slices.Compact(agents)
		seen := make(map[string]bool)
		for i, name := range toolNames(agents) {
			if !valid.MatchString(name) || seen[name] || name == "agents_list" {
				t.Fatalf("%q has the tool %q (there already: %v)", agents[i], name, seen[name])
			}
			seen[name] = true
		}
	})
}
