package shell

import (
	"slices"
	"testing"

	"github.com/agentworker/worker/permission"
)

// A person is told what a command depends on.
func TestWhatCommandsDependOn(t *testing.T) {
	for command, want := range map[string]string{
		"D=build; rm -rf $D":               "rm -rf $D   where D=build",
		"D=$(mktemp -d); rm -rf \"$D\"":    "rm -rf \"$D\"   where D=$(mktemp -d)",
		"A=x; B=$A/y; rm $B":               "rm $B   where A=x; B=$A/y",
		"for f in a b; do rm \"$f\"; done": "rm \"$f\"   where f in a b",
		"cat <<E\nhello\nE":                "cat   where <<E\nhello\nE",
		"rm x":                             "rm x",
	} {
		values, err := Values(tempWorkspace(t), "shell_exec", command)
		if err != nil {
			t.Fatal(err)
		}
		if got := permission.Patterns(values); !slices.Contains(got, want) {
			t.Errorf("%q: got %q, want %q among them", command, got, want)
		}
	}
}

// What is unknown has a reason, and the spelling that would be known.
func TestUnknownSaysWhy(t *testing.T) {
	for _, command := range []string{"x='a[$(rm y)]'; echo $((x))", "echo ${!x}", "[[ -v $x ]]", "$x y", "eval \"$x\"", "sh -c \"$x\"", "python3 -c x", "sh -c '[[ a ]]'",
		"ls > $X", "RANDOM=x; ls", "trap \"$x\" EXIT", "source x", "echo x > y.sh; ./y.sh"} {
		values, err := Values(tempWorkspace(t), "shell_exec", command)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(values, func(v permission.Value) bool { return v.Certainty == permission.Unknown && v.Why != "" }) {
			t.Errorf("%q: nothing of it is unknown for a reason", command)
		}
	}
}
