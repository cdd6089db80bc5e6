package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// TestLinksStay: no command moves, removes or replaces a link on the way to what is protected, and
// none changes what it leads to. Reading through it works.
func TestLinksStay(t *testing.T) {
	const setup = `git init -q .; mkdir -p cfg/agents deep/er .claude conf pkg; echo S > cfg/settings.json; echo other > plain
		ln -s deep/er/middle link; ln -s ../../cfg deep/er/middle
		ln -s ../cfg/settings.json .claude/settings.json
		echo O > conf/oc.json; ln -s $PWD/conf/oc.json opencode.json
		ln -s ../cfg pkg/.agents; ln -s plain free`
	for name, command := range map[string]string{
		"rm":               `rm -f link opencode.json .claude/settings.json deep/er/middle pkg/.agents`,
		"unlink":           `for f in link opencode.json .claude/settings.json deep/er/middle pkg/.agents; do unlink $f; done`,
		"os.unlink":        `python3 -c 'import os; os.unlink("link")'; python3 -c 'import os; os.unlink("settings.json", dir_fd=os.open(".claude", os.O_RDONLY))'; python3 -c 'import os; os.chdir("deep/er"); os.unlink("/proc/self/cwd/middle")'`,
		"rmdir":            `rmdir link/ link; python3 -c 'import os; os.rmdir("link")'`,
		"mv":               `mv link l; mv opencode.json o; mv .claude/settings.json s; mv deep/er/middle m; mv pkg/.agents a`,
		"ln -sfn":          `ln -sfn plain link; ln -sfn plain opencode.json; ln -sf ../plain .claude/settings.json; ln -sfn ../plain pkg/.agents; ln -sfn /tmp deep/er/middle`,
		"over it":          `for f in link opencode.json .claude/settings.json deep/er/middle pkg/.agents; do cp plain n; mv -fT n $f; ln -sfT /tmp n; mv -fT n $f; done`,
		"exchange":         `for f in link opencode.json .claude/settings.json deep/er/middle pkg/.agents; do ln -sfn plain x; python3 -c 'import ctypes,sys;f=sys.argv[1].encode();l=ctypes.CDLL(None);l.renameat2(-100,b"x",-100,f,2);l.renameat2(-100,f,-100,b"x",2)' $f; done`,
		"folders above":    `mv .claude c; rm -rf .claude; mv deep d; mv deep/er e; rm -rf deep; mv pkg p; rm -rf pkg; mkdir e; python3 -c 'import ctypes;ctypes.CDLL(None).renameat2(-100,b"deep",-100,b"e",2)'`,
		"what it leads to": `mv cfg c; mv conf c; rm -rf cfg conf; echo x > conf/oc.json; echo x > opencode.json; echo x > .claude/settings.json; echo x > link/settings.json; cp plain n; mv -f n conf/oc.json; ln -sf plain cfg/settings.json`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, all, setup, sandbox.Options{})
			p.input.Protected = append(p.input.Protected, "link/settings.json", ".claude/settings.json", "opencode.json")
			p.input.Anywhere = []string{".agents/agents"}
			out := p.limited(command)
			for path, want := range map[string]string{"link/settings.json": "S\n", ".claude/settings.json": "S\n", "opencode.json": "O\n"} {
				if got, err := os.ReadFile(filepath.Join(p.root, path)); string(got) != want {
					t.Errorf("%s is %q, %v\n%s", path, got, err, out)
				}
			}
			for path, want := range map[string]string{"link": "deep/er/middle", "deep/er/middle": "../../cfg", ".claude/settings.json": "../cfg/settings.json", "opencode.json": filepath.Join(p.root, "conf/oc.json"), "pkg/.agents": "../cfg"} {
				if got, err := os.Readlink(filepath.Join(p.root, path)); got != want {
					t.Errorf("%s leads to %q, %v\n%s", path, got, err, out)
				}
			}
			if got := p.limited(`cat link/settings.json opencode.json; readlink link; git status -s link; rm free && ln -s cfg free && mv free freed && rm freed && echo fine`); got != "S\nO\ndeep/er/middle\n?? link\nfine\n" {
				t.Errorf("what is allowed: %q", got)
			}
		})
	}
}

// TestLinksNeedNoMount: links that lead to nothing protected are not looked at.
func TestLinksNeedNoMount(t *testing.T) {
	p := newPlace(t, all, `mkdir -p a/b; ln -s a l; ln -s ../x a/y; ln -s .agents m`, sandbox.Options{})
	plan, err := p.session.Plan(sandbox.NewProfile(p.input))
	if err != nil || slices.ContainsFunc(plan.ReadOnly, func(path string) bool { return strings.HasPrefix(path, p.root) }) {
		t.Errorf("%v, %v", plan, err)
	}
}
