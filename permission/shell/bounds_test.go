package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
)

// A command line that multiplies itself is cut short, never followed.
func TestShellBounds(t *testing.T) {
	w := tempWorkspace(t)
	l := permission.Layers{Static: rules(t, `{"*":"allow","read_file":{"*":"allow","*.env":"deny"}}`)}
	for name, command := range map[string]string{
		"variable":      "a=aaaaaaaaaa;" + strings.Repeat("a=$a$a$a$a;", 30) + "cat $a",
		"braces":        "cat " + strings.Repeat("{a,b}", 20000),
		"nested braces": "cat " + strings.Repeat("{a,", 2000) + "b" + strings.Repeat("}", 2000),
		"words":         "a=" + strings.Repeat("b", 4000) + "; cat" + strings.Repeat(" $a", 30000),
		"loops":         strings.Repeat("for i in {1..40}; do ", 4) + "cat " + strings.Repeat("x", 100000) + " $i$i;" + strings.Repeat("done;", 4),
		"nested":        strings.Repeat("echo $(", 15000) + "ls" + strings.Repeat(")", 15000),
		"arithmetic":    "echo " + strings.Repeat("$((1+", 15000) + "1" + strings.Repeat("))", 15000),
		"files":         strings.Repeat("rg x /usr /opt /var;", 1000),
		"deep":          "cat " + strings.Repeat("a/", 50000) + "b",
		"open braces":   "cat " + strings.Repeat("{", 120000),
		"folders":       "tar " + strings.Repeat("-C a ", 20000) + "x",
		"remote":        strings.Repeat("ssh h ", 20000) + "rm",
		"patterns":      "cat " + strings.Repeat("* ", 60000),
		"parts":         "cat " + strings.Repeat("a=", 60000),
		"many words":    "cp " + strings.Repeat("a ", 60000),
		"hidden":        "cat " + strings.Repeat("a ", 20000) + "$(rm x) .env",
	} {
		values, err := Values(w, "shell_exec", command)
		size := 0
		for _, v := range values {
			size += len(v.Text)
		}
		if len(values) > maxValues+1 || size > 32<<20 {
			t.Errorf("%s: %d values of %d bytes", name, len(values), size)
		}
		if d := l.Decide(values); err == nil && d.Action == permission.Allow {
			t.Errorf("%s: allowed", name)
		}
	}
}

// A pattern over more files than are looked at might mean the one that a rule
// denies.
func TestTooManyFiles(t *testing.T) {
	w := tempWorkspace(t)
	for i := range 1200 {
		if err := os.WriteFile(filepath.Join(w.Root, fmt.Sprintf("many%d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := permission.Layers{Static: rules(t, `{"*":"allow","shell_exec":{"*":"allow","rm many7":"deny"}}`)}
	values, err := Values(w, "shell_exec", "rm many*")
	if err != nil {
		t.Fatal(err)
	}
	if d := l.Decide(values); d.Action == permission.Allow {
		t.Errorf("rm many* was allowed, though it removes many7")
	}
}
