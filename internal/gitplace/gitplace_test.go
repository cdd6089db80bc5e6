package gitplace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/internal/gitplace"
)

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		there []string // files; folders end in "/"
		path  string
		want  string
	}{
		{nil, "src/main.go", ""},
		{nil, "HEAD", ""},
		{nil, "x/objects/a", ""},
		{nil, "config/hooks/x", ""},
		{nil, ".gitignore", ""},
		{nil, ".github/x.yml", ""},
		{nil, "sub/.git", gitplace.OwnRepository},
		{nil, "sub/.GIT/config", gitplace.OwnRepository},
		{nil, "sub/.g\u200cit/config", gitplace.OwnRepository},
		{nil, "sub/git~1", gitplace.OwnRepository},
		{nil, "sub/.git. /x", gitplace.OwnRepository},
		{nil, "sub/.git::$INDEX_ALLOCATION/x", gitplace.OwnRepository},
		{[]string{"x/objects/", "x/refs/"}, "x/HEAD", gitplace.Completed},
		{[]string{"x/objects/", "x/refs/"}, "x/head", gitplace.Completed},
		{[]string{"x/HEAD", "x/refs/"}, "x/objects/pack/a", gitplace.Completed},
		{[]string{"x/HEAD", "x/refs/"}, "x/\u200dOBJECTS/a", gitplace.Completed},
		{[]string{"x/HEAD", "x/objects/"}, "x/refs/heads/a", gitplace.Completed},
		{[]string{"x/HEAD", "x/objects/"}, "x/ref\u017f/heads/a", gitplace.Completed},
		{[]string{"x/HEAD"}, "x/commondir", gitplace.Completed},
		{[]string{"x/commondir"}, "x/HEAD", gitplace.Completed},
		{[]string{"HEAD", "refs/"}, "objects/a", gitplace.Completed},
		{[]string{"x/HEAD", "x/objects/", "x/refs/"}, "x/config", gitplace.Settings},
		{[]string{"x/HEAD", "x/objects/", "x/refs/"}, "x/Hooks/post-checkout", gitplace.Settings},
		{[]string{"x/HEAD", "x/objects/", "x/refs/"}, "x/worktrees/a/commondir", gitplace.Settings},
		{[]string{"x/HEAD", "x/objects/", "x/refs/"}, "x/modules/a/config", gitplace.Settings},
		{[]string{"x/HEAD", "x/objects/", "x/refs/"}, "x/description", ""},
		{[]string{"x/objects/", "x/refs/"}, "x/config", ""},
	} {
		root := t.TempDir()
		for _, name := range c.there {
			full := filepath.Join(root, name)
			err := os.MkdirAll(filepath.Dir(full), 0o755)
			if name[len(name)-1] == '/' {
				err = os.MkdirAll(full, 0o755)
			} else if err == nil {
				err = os.WriteFile(full, nil, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := gitplace.Refused(root, c.path); got != c.want {
			t.Errorf("%v, %q: %q, want %q", c.there, c.path, got, c.want)
		}
	}
}
