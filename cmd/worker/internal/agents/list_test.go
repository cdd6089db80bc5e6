package agents

import (
	"testing"

	"github.com/agentworker/worker/agentdefs"
)

func TestChangeLine(t *testing.T) {
	for _, tt := range []struct {
		c    agentdefs.Change
		want string
	}{
		{agentdefs.Change{Added: []string{"a", "b"}, Removed: []string{"c\x1b"}}, "added: a, b; removed: c"},
		{agentdefs.Change{Changed: []string{"a"}}, "changed: a"},
		{agentdefs.Change{}, "no agent has changed, only the diagnostics of files"},
	} {
		if got := changeLine(tt.c); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.c, got, tt.want)
		}
	}
}
