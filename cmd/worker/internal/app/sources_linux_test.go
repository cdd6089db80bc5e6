package app

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// TestAgentsStay: whatever file tools and commands do in a workspace, with all allowed, the loader
// reads the same agents from it, of every tool, through whatever links. Trees and commands are random: 12, or
// with WORKER_TEST_LONG=1 as many as rapid makes.
func TestAgentsStay(t *testing.T) {
	rounds := 0
	rapid.Check(t, func(r *rapid.T) {
		if rounds++; rounds > 12 && os.Getenv("WORKER_TEST_LONG") == "" {
			return
		}
		place := newAgentTree(t, r)
		before := place.agents(t)
		commands := rapid.SliceOfN(rapid.Custom(place.command), 1, 12).Draw(r, "commands")
		out := place.shell(t, strings.Join(commands, "\n"))
		for range 4 {
			path := rapid.SampledFrom(place.paths).Draw(r, "path")
			place.write(t, path)
		}
		if after := place.agents(t); after != before {
			r.Fatalf("the agents were\n%sand are\n%safter\n%s\n%s", before, after, strings.Join(commands, "\n"), out)
		}
	})
}

// agentTree is a workspace with agent files in some places, and links.
type agentTree struct {
	root  string
	paths []string // of folders and files, there or not
	opts  *agentdefs.Options
	tools []tool.Tool
}

const anAgent = "---\nname: %s\ndescription: x\n---\nx\n"

func newAgentTree(t *testing.T, r *rapid.T) *agentTree {
	base, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	a := &agentTree{root: filepath.Join(base, "ws")}
	parents := []string{".", "pkg/a", "pkg/b", "team", "deep/er"}
	folders := append(agentdefs.Folders(), ".agents", ".claude", "agents", "x")
	for _, parent := range parents {
		for _, f := range append(rapid.SliceOfNDistinct(rapid.SampledFrom(folders), 2, 5, rapid.ID[string]).Draw(r, "folders"), "") {
			a.paths = append(a.paths, filepath.Join(parent, f), filepath.Join(parent, f, "one.md"), filepath.Join(parent, f, "two.md"))
		}
	}
	slices.Sort(a.paths)
	a.paths = slices.Compact(a.paths)
	script := "mkdir -p ws home\ncd ws\nmkdir -p team " + strings.Join(parents, " ") + "\n"
	for i, path := range a.paths {
		switch rapid.SampledFrom([]string{"nothing", "file", "link", "dangling", "up"}).Draw(r, "what") {
		case "file":
			if strings.HasSuffix(path, ".md") {
				script += fmt.Sprintf("mkdir -p %s && [ ! -e %s ] && printf -- %s > %s\n", filepath.Dir(path), path, shellQuote(fmt.Sprintf(anAgent, fmt.Sprintf("a%d", i))), path)
			}
		case "link":
			script += link(rapid.SampledFrom(a.paths).Draw(r, "target"), path, "")
		case "dangling":
			script += link("gone/"+filepath.Base(path), path, "")
		case "up":
			script += link("lost/../"+rapid.SampledFrom(a.paths).Draw(r, "target"), path, "")
		}
	}
	a.paths = append(a.paths, "gone", "lost", "gone/one.md", "gone/agents")
	setup := exec.Command("bash", "-c", script)
	setup.Dir = base
	_ = setup.Run() // a name may be taken already
	p := &Program{Environ: []string{"HOME=" + filepath.Join(base, "home"), "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + base, "XDG_CONFIG_HOME=" + base}}
	p.Stderr, p.Stdout = io.Discard, io.Discard
	p.Settings.Dir, p.Settings.AgentsDirs, p.Settings.AgentsFrom = a.root, []string{filepath.Join(a.root, "team")}, []string{"all"}
	ws, err := p.Workspace()
	if err != nil {
		t.Fatal(err)
	}
	a.open(t, p, ws)
	return a
}

func (a *agentTree) open(t *testing.T, p *Program, ws *workspace.Workspace) {
	a.opts = agentSources(p, ws)
	files, err := tool.OpenWorkspace(a.root, p.ToolOptions(ws))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	a.tools = tool.Builtin(files)
}

// link is a command that makes one to a path of the workspace.
func link(target, path, from string) string {
	up := strings.Repeat("../", strings.Count(path, "/"))
	return fmt.Sprintf("mkdir -p %s; ln -s%sT %s%s %s\n", filepath.Dir(path), from, up, target, path)
}

// command is one that may change what agents are read.
func (a *agentTree) command(r *rapid.T) string {
	path := func() string { return rapid.SampledFrom(a.paths).Draw(r, "path") }
	x, y := path(), path()
	evil := "printf -- " + shellQuote(fmt.Sprintf(anAgent, "evil"))
	return rapid.SampledFrom([]string{
		"mkdir -p " + filepath.Dir(x) + "; " + evil + " > " + x, evil + " >> " + x, "mkdir -p " + x, "rm -rf " + x, "mv -T " + x + " " + y,
		strings.TrimSpace(link(y, x, "f")), "cp -rT " + x + " " + y, "ln -f " + x + " " + y, "cd " + filepath.Dir(x) + " && " + evil + " > evil.md; cd " + a.root,
		"mkdir -p new/agents; " + evil + " > new/agents/e.md; mv -T new " + x, "mkdir -p new; " + evil + " > new/one.md; mv -T new " + x,
	}).Draw(r, "command")
}

// shell runs a script with all allowed.
func (a *agentTree) shell(t *testing.T, script string) string {
	return a.call(t, "shell_exec", map[string]any{"command": script, "timeoutSeconds": 60})
}

// write writes a file, where nobody would be asked.
func (a *agentTree) write(t *testing.T, path string) {
	a.call(t, "write_file", map[string]any{"path": path, "content": fmt.Sprintf(anAgent, "evil")})
}

func (a *agentTree) call(t *testing.T, name string, args map[string]any) string {
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	all := &permission.Layers{Static: permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})}
	one := a.tools[slices.IndexFunc(a.tools, func(o tool.Tool) bool { return o.Spec().Name == name })]
	if name != "shell_exec" { // the text of a command is intent: it runs, and the sandbox holds
		values, err := one.Values(raw)
		if err != nil || all.Decide(values).Action != permission.Allow {
			return ""
		}
	}
	result, err := one.Run(t.Context(), &tool.Call{SessionID: "s", Args: raw, Rules: all})
	if err != nil {
		return err.Error()
	}
	return result.Text
}

// agents are what the loader reads: their files and contents.
func (a *agentTree) agents(t *testing.T) (out string) {
	s, err := agentdefs.Load(a.root, a.opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range s.Agents() {
		out += d.Name + " " + d.File + "\n"
	}
	return out + s.Fingerprint() + "\n"
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "\n", `\n`) + "'" }
