package stdio_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/internal/stdio"
)

// TestFolders: a server sees where its program lies, and an agent that makes links has it see nothing else.
func TestFolders(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, ws, out := filepath.Join(base, "home"), filepath.Join(base, "ws"), filepath.Join(base, "out")
	file := func(mode os.FileMode, names ...string) string {
		path := filepath.Join(append([]string{base}, names...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(to string, names ...string) string {
		path := filepath.Join(append([]string{base}, names...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	node, server := "/usr/bin/node", file(0o644, "code", "server.js")
	key := file(0o600, "home", ".ssh", "id")
	tool := file(0o755, "home", ".tool", "run")
	link(home, "ws", "up")
	link(filepath.Join(base, "out", "back"), "code2")
	link(filepath.Join(base, "code"), "out", "back")
	script := file(0o644, "ws", "s.js")

	all := permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})
	written := sandbox.WrittenIn(sandbox.NewProfile(sandbox.Input{
		Layers: &permission.Layers{Static: all}, Workspace: permission.Workspace{Root: ws, Home: home},
		Folders: []sandbox.Folder{{Path: out, Access: sandbox.Write}},
	}))
	for name, c := range map[string]struct {
		command string
		args    []string
		want    []string
	}{
		"a script":                        {node, []string{server}, []string{base + "/code"}},
		"after options":                   {server, []string{"-x", key}, []string{base + "/code"}},
		"a link of the person's":          {node, []string{link(server, "links", "s.js")}, []string{base + "/links", base + "/code"}},
		"a package":                       {file(0o755, "home", ".x", "node_modules", "a", "b.js"), nil, []string{home + "/.x/node_modules"}},
		"a toolchain":                     {file(0o755, "home", ".nvm", "v", "lib", "n"), nil, []string{home + "/.nvm/v/lib"}},
		"a folder of programs":            {file(0o755, "home", ".mason", "bin", "n"), nil, []string{home + "/.mason/bin"}},
		"in the workspace":                {node, []string{script}, nil},
		"a link in the workspace":         {node, []string{link(server, "ws", "l.js")}, nil},
		"the command":                     {link(server, "ws", "bin", "python"), []string{script}, nil},
		"a link above":                    {node, []string{ws + "/up/.ssh/id"}, nil},
		"a link to one in the workspace":  {node, []string{link(ws+"/l.js", "links", "w.js")}, nil},
		"a link where commands write":     {node, []string{base + "/code2/server.js"}, nil},
		"a key":                           {node, []string{key}, nil},
		"a key by a link of the person's": {node, []string{link(key, "home", "id.js")}, nil},
		"the home folder":                 {file(0o644, "home", "s.js"), nil, nil},
		"a program among settings":        {tool, nil, []string{tool}},
		"the system's":                    {"/etc/hostname", []string{"/etc/passwd"}, nil},
	} {
		if got := stdio.Folders(home, written, c.command, c.args, nil); !slices.Equal(got, c.want) {
			t.Errorf("%s: %s %v: %q, want %q", name, c.command, c.args, got, c.want)
		}
	}
}
