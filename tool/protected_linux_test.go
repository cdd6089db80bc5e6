package tool_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// TestProtectedFound: what agent files and git's settings lead to is protected by
// whatever name it has, there or not.
func TestProtectedFound(t *testing.T) {
	for name, c := range map[string]struct{ setup, file string }{
		"a link to an agent file":                    {`mkdir -p .agents/agents texts; echo old > texts/rev.md; ln -s ../../texts/rev.md .agents/agents/rev.md`, "texts/rev.md"},
		"a link to the folder":                       {`mkdir -p .agents shared/agents; ln -s ../shared/agents .agents/agents`, "shared/agents/evil.md"},
		"a link above the folder":                    {`mkdir -p shared; ln -s shared .agents`, "shared/agents/evil.md"},
		"a link to what is not there yet":            {`mkdir -p .agents/agents texts; ln -s ../../texts/later.md .agents/agents/x.md`, "texts/later.md"},
		"a chain of links":                           {`mkdir -p .agents/agents texts; echo old > texts/a.md; ln -s a.md texts/b.md; ln -s ../../texts/b.md .agents/agents/x.md`, "texts/a.md"},
		"a linked folder in the folder":              {`mkdir -p .agents/agents team; ln -s ../../team .agents/agents/team`, "team/evil.md"},
		"core.hooksPath":                             {`git init -q; mkdir .husky; git config core.hooksPath .husky`, ".husky/pre-commit"},
		"core.hooksPath, not there yet":              {`git init -q; mkdir tools; git config core.hooksPath tools/hooks`, "tools/hooks/pre-commit"},
		"include.path":                               {`git init -q; echo > .gitconfig; git config include.path ../.gitconfig`, ".gitconfig"},
		"include.path, not there yet":                {`git init -q; git config include.path ../.gitconfig`, ".gitconfig"},
		"an include of an include":                   {`git init -q; printf '[include]\n\tpath = b.cfg\n' > a.cfg; echo > b.cfg; git config include.path ../a.cfg`, "b.cfg"},
		"includeIf":                                  {`git init -q; echo > c.cfg; git config includeIf.onbranch:other.path ../c.cfg`, "c.cfg"},
		"a filter":                                   {`git init -q; mkdir bin; echo > bin/clean; git config filter.x.clean "bin/clean %f"`, "bin/clean"},
		"core.fsmonitor":                             {`git init -q; echo > watch.sh; git config core.fsmonitor ./watch.sh`, "watch.sh"},
		"a program, not there yet":                   {`git init -q; mkdir bin; git config core.fsmonitor bin/later.sh`, "bin/later.sh"},
		"an alias":                                   {`git init -q; mkdir bin; git config alias.x "!bin/run.sh --all"`, "bin/run.sh"},
		"includeIf, and what it names":               {`git init -q; mkdir tools; printf '[core]\n\thooksPath = tools/h\n' > c.cfg; git config includeIf.onbranch:other.path ../c.cfg`, "tools/h/pre-commit"},
		"a repository in the workspace":              {`git init -q sub; git -C sub config core.hooksPath ../shared/hooks; mkdir -p shared/hooks`, "shared/hooks/pre-commit"},
		"two deep, and no other":                     {`git init -q; git init -q a/b/sub; git -C a/b/sub config core.fsmonitor ./w.sh`, "a/b/sub/w.sh"},
		"the repository above":                       {`git init -q ..; git -C .. config core.hooksPath ws/.husky`, ".husky/pre-commit"},
		"a submodule's settings":                     {`git init -q; mkdir -p .git/modules/m; git config -f .git/modules/m/config core.hooksPath "$PWD/mh"`, "mh/pre-commit"},
		"a worktree in the workspace":                {`git init -q ../main; git -C ../main -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git -C ../main worktree add -q "$PWD/sub"; git -C ../main config core.hooksPath .husky`, "sub/.husky/pre-commit"},
		"a folder of git's elsewhere":                {`git init -q --separate-git-dir=meta sub`, "meta/config"},
		"its hooks":                                  {`git init -q --separate-git-dir=meta sub`, "meta/hooks/post-checkout"},
		"a bare repository":                          {`git init -q --bare store.git`, "store.git/config"},
		"settings of the user":                       {`git config -f ../home/.gitconfig include.path "$PWD/mine.cfg"`, "mine.cfg"},
		"a package":                                  {`mkdir -p packages/a`, "packages/a/.agents/agents/evil.md"},
		"a package, in another tool":                 {`mkdir -p packages/a/.claude`, "packages/a/.claude/agents/x/evil.md"},
		"a package, in another case":                 {`mkdir -p packages/a/.Agents`, "packages/a/.Agents/AGENTS/evil.md"},
		"a package behind a link":                    {`mkdir -p packages/a shared/agents; ln -s ../../shared packages/a/.claude`, "shared/agents/evil.md"},
		"a link in a linked folder":                  {`mkdir -p .agents/agents team other; ln -s ../../team .agents/agents/team; ln -s ../other/x.md team/x.md`, "other/x.md"},
		"a link that is on the way":                  {`mkdir -p .agents texts; ln -s ../texts/now .agents/agents; mkdir texts/v1; ln -s v1 texts/now`, "texts/v1/evil.md"},
		"settings behind a link to nothing":          {`ln -s cfg .claude`, "cfg/settings.json"},
		"agents behind a link to nothing":            {`ln -s cfg .claude`, "cfg/agents/evil.md"},
		"a chain of links to nothing":                {`ln -s one .claude; ln -s two/three one`, "two/three/settings.json"},
		"a link to nothing in the middle":            {`mkdir -p .claude conf; ln -s ../conf/of .claude/settings.json; ln -s ../away/x.json conf/of`, "away/x.json"},
		"a link to nothing that goes up":             {`mkdir -p .agents/agents deep; ln -s ../../deep/../far/team .agents/agents/team`, "far/team/evil.md"},
		"a link that goes up from nothing":           {`mkdir -p x/y; ln -s gone/../cfg .claude; ln -s x/y other`, "cfg/settings.json"},
		"a file of settings behind a link":           {`ln -s x/y.json opencode.json`, "x/y.json"},
		"an absolute link to nothing":                {`ln -s "$PWD/a/b" .claude`, "a/b/settings.json"},
		"settings behind a link, below a link there": {`mkdir -p real; ln -s real soft; ln -s soft/cfg .claude`, "real/cfg/settings.json"},
		"the rules of the repository":                {`mkdir -p .agents conf; ln -s ../conf/later.jsonc .agents/permissions.jsonc`, "conf/later.jsonc"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newAgentsPlace(t)
			p.script(c.setup)
			before, _ := os.ReadFile(filepath.Join(p.dir, c.file))
			result := p.exec(`{"*": "allow"}`, "mkdir -p "+filepath.Dir(c.file)+"; echo evil >> "+c.file+"; echo fine > plain; echo new > another", nil)
			after, _ := os.ReadFile(filepath.Join(p.dir, c.file))
			if string(after) != string(before) {
				t.Errorf("%s was written: %s", c.file, result.Text)
			}
			if d := p.decide("write_file", args{"path": c.file, "content": "x"}); d != permission.Ask {
				if r := p.call("write_file", args{"path": c.file, "content": "x"}); !r.IsError {
					t.Errorf("write_file %s is decided with %v", c.file, d)
				}
			}
			if d := p.decide("write_file", args{"path": "plain", "content": "x"}); d != permission.Allow {
				t.Errorf("write_file plain is decided with %v", d)
			}
			if text := p.read("plain") + p.read("another"); !strings.Contains(text, "fine") || !strings.Contains(text, "new") {
				t.Errorf("what is beside it was not written: %s", result.Text)
			}
		})
	}
}

// newAgentsPlace is a workspace in which folders have agent files, with a home folder beside it.
func newAgentsPlace(t *testing.T) *place {
	t.Helper()
	home := filepath.Join(realTempDir(t), "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	p := newPlace(t, nil, map[string]string{"plain": ""})
	folders := []string{".agents/agents", ".claude/agents"}
	ws, err := tool.OpenWorkspace(p.dir, &tool.Options{
		Home: home, AgentFiles: tool.AgentFiles{Folders: folders},
		Sandbox: tool.SandboxOptions{Protected: append(folders, filepath.Join(p.dir, ".agents/permissions.jsonc"), filepath.Join(p.dir, ".claude/settings.json"), filepath.Join(p.dir, "opencode.json"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	for _, b := range tool.Builtin(ws) {
		p.tools[b.Spec().Name] = b
	}
	if err := os.Symlink(home, filepath.Join(filepath.Dir(p.dir), "home")); err != nil {
		t.Fatal(err)
	}
	return p
}

// decide is what rules that allow all make of a call.
func (p *place) decide(name string, a args) permission.Action {
	p.t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		p.t.Fatal(err)
	}
	values, err := p.tools[name].Values(raw)
	if err != nil {
		p.t.Fatal(err)
	}
	return allowAll.Decide(values).Action
}

// TestUnknownSettings: where git can't say what it takes from a repository, nothing in that is
// written, and the rest of the workspace is.
func TestUnknownSettings(t *testing.T) {
	for name, setup := range map[string]string{
		"broken":                   `printf '[core\n' > sub/.git/config`,
		"a pipe":                   `rm sub/.git/config; mkfifo sub/.git/config`,
		"an included file, broken": `git -C sub config include.path ../../bad.cfg; printf '[core\n' > bad.cfg`,
		"a folder":                 `rm sub/.git/config; mkdir sub/.git/config`,
		"too large":                `truncate -s 5M sub/.git/config`,
	} {
		p := newAgentsPlace(t)
		p.script(`git init -q sub; touch sub/file; ` + setup)
		result := p.exec(`{"*": "allow"}`, "echo evil > sub/new; echo evil > sub/file; echo fine > plain", nil)
		if _, err := os.Stat(filepath.Join(p.dir, "sub/new")); err == nil || p.read("sub/file") != "" || p.read("plain") != "fine\n" || !strings.Contains(result.Text, "git can't say") {
			t.Errorf("%s: %s", name, result.Text)
		}
		if d := p.decide("write_file", args{"path": "sub/new", "content": "x"}); d != permission.Ask {
			t.Errorf("%s: write_file is decided with %v", name, d)
		}
		if d := p.decide("write_file", args{"path": "new", "content": "x"}); d != permission.Allow {
			t.Errorf("%s: write_file beside it is decided with %v", name, d)
		}
	}
}

// TestAgentFoldersAreNotMoved: no folder that the loader reads comes about by a command.
func TestAgentFoldersAreNotMoved(t *testing.T) {
	for name, command := range map[string]string{
		"a folder moved into place":   `mkdir -p x/agents; echo evil > x/agents/e.md; mv x packages/a/.claude`,
		"the inner one":               `mkdir -p x packages/a/.claude; echo evil > x/e.md; mv x packages/a/.claude/agents`,
		"a link":                      `mkdir -p x/agents; echo evil > x/agents/e.md; ln -s ../../x packages/a/.claude`,
		"a link, moved":               `mkdir -p x/agents; echo evil > x/agents/e.md; ln -s ../../x l; mv l packages/a/.agents`,
		"exchange":                    `mkdir -p x/agents packages/a/.agents; echo evil > x/agents/e.md; python3 -c 'import ctypes;print(ctypes.CDLL(None).renameat2(-100,b"x",-100,b"packages/a/.agents",2))'`,
		"a copy":                      `mkdir -p x/agents; echo evil > x/agents/e.md; cp -r x packages/a/.claude`,
		"a parent replaced":           `mkdir -p y/.claude x; mv y packages/b; mkdir packages/b/.claude/agents; echo evil > packages/b/.claude/agents/e.md`,
		"a parent with it, moved":     `mkdir -p y/.claude/agents; echo evil > y/.claude/agents/e.md; mv y packages/b`,
		"from /tmp":                   `mkdir -p /tmp/.claude/agents; echo evil > /tmp/.claude/agents/e.md; mv /tmp/.claude packages/a/; cp -r /tmp/.claude packages/a/`,
		"one that is there, replaced": `mv packages/old packages/gone; mkdir -p packages/old/.claude/agents; echo evil > packages/old/.claude/agents/f.md`,
		"a hard link":                 `ln packages/old/.claude/agents/f.md packages/a/l; echo evil >> packages/a/l`,
		"by an archive":               `mkdir -p x/.claude/agents 2>/dev/null; python3 -c 'import tarfile,io;t=tarfile.open("/tmp/a.tar","w");i=tarfile.TarInfo("packages/a/.claude/agents/e.md");i.size=4;t.addfile(i,io.BytesIO(b"evil"))'; tar xf /tmp/a.tar`,
	} {
		p := newAgentsPlace(t)
		p.script(`mkdir -p packages/a packages/old/.claude/agents; echo good > packages/old/.claude/agents/f.md`)
		result := p.exec(`{"*": "allow"}`, command+"; echo fine > plain", nil)
		out, _ := exec.Command("bash", "-c", `cd `+p.dir+`; cat .agents/agents/*.md .claude/agents/*.md packages/*/.agents/agents/*.md packages/*/.claude/agents/*.md 2>/dev/null`).Output()
		if string(out) != "good\n" || p.read("plain") != "fine\n" {
			t.Errorf("%s: agents are read from %q\n%s", name, out, result.Text)
		}
	}
}

// TestLinksToNothing: what is made behind a link that led nowhere steers no agent.
func TestLinksToNothing(t *testing.T) {
	for name, command := range map[string]string{
		"made":                `mkdir -p cfg/agents; echo evil > cfg/settings.json; echo evil > cfg/agents/e.md`,
		"moved into place":    `mkdir -p t/agents; echo evil > t/settings.json; echo evil > t/agents/e.md; mv t cfg`,
		"parts moved":         `mkdir -p cfg t; echo evil > t/settings.json; mv t/settings.json cfg; mkdir t/agents; echo evil > t/agents/e.md; mv t/agents cfg`,
		"a link":              `mkdir -p t/agents; echo evil > t/settings.json; echo evil > t/agents/e.md; ln -s t cfg`,
		"a link, moved":       `mkdir -p t/agents; echo evil > t/settings.json; echo evil > t/agents/e.md; ln -s t l; mv l cfg`,
		"links in it":         `mkdir -p cfg t; echo evil > t/settings.json; ln -s ../t/settings.json cfg; ln -s ../t cfg/agents; echo evil > t/e.md`,
		"a hard link":         `mkdir -p cfg; echo evil > t; ln t cfg/settings.json`,
		"exchanged":           `mkdir -p t/agents cfg; echo evil > t/settings.json; echo evil > t/agents/e.md; python3 -c 'import ctypes;ctypes.CDLL(None).renameat2(-100,b"t",-100,b"cfg",2)'`,
		"from /tmp":           `mkdir -p /tmp/cfg/agents; echo evil > /tmp/cfg/settings.json; echo evil > /tmp/cfg/agents/e.md; cp -r /tmp/cfg .; mv /tmp/cfg .`,
		"through the link":    `mkdir -p .claude/agents .claude/ cfg; echo evil > .claude/settings.json; mkdir .claude/agents; echo evil > .claude/agents/e.md`,
		"up from a new link":  `mkdir -p x/y x/dots; echo evil > x/dots/settings.json; ln -s x/y gone`,
		"up from a moved one": `mkdir -p x/y x/dots; echo evil > x/dots/settings.json; ln -s x/y g; mv g gone`,
		"up from a folder":    `mkdir -p x/gone x/dots; echo evil > x/dots/settings.json; mv x/gone gone; mkdir dots; echo evil > dots/settings.json`,
	} {
		p := newAgentsPlace(t)
		p.script(`ln -s cfg .claude; ln -s gone/../dots/settings.json opencode.json`)
		result := p.exec(`{"*": "allow"}`, command+"; echo fine > plain", nil)
		out, _ := exec.Command("bash", "-c", `cd `+p.dir+`; cat .claude/settings.json .claude/agents/*.md opencode.json 2>/dev/null`).Output()
		if string(out) != "" || p.read("plain") != "fine\n" {
			t.Errorf("%s: agents and settings are read from %q\n%s", name, out, result.Text)
		}
	}
}
