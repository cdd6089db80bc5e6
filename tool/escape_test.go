package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/tool"
)

const secret = "the secret beside the workspace"

// escapees returns a workspace with a secret beside it and links that lead there.
func escapees(t *testing.T) *place {
	p := newPlace(t, nil, map[string]string{
		"in/a.txt":  "inside\n",
		"near":      "-> in/a.txt",
		"folder":    "-> in",
		"up":        "-> ../secret.txt",
		"updir":     "-> ..",
		"deep/up":   "-> ../../secret.txt",
		"hop":       "-> up",
		"loop":      "-> loop",
		"loop1":     "-> loop2",
		"loop2":     "-> loop1",
		"around":    "-> in/../../ws/in/a.txt",
		"self":      "-> .",
		"etc":       "-> /etc",
		"upfolder":  "-> ../beside",
		"deep/here": "-> ../in/a.txt",
	})
	beside := filepath.Dir(p.dir)
	p.put("../secret.txt", secret)
	p.put("../beside/secret.txt", secret)
	p.put("abs-in", "-> "+filepath.Join(p.dir, "in/a.txt"))
	p.put("abs-out", "-> "+filepath.Join(beside, "secret.txt"))
	p.put("../ws2/secret.txt", secret) // a sibling whose name begins with that of the workspace
	return p
}

func TestEscapes(t *testing.T) {
	p := escapees(t)
	beside := filepath.Dir(p.dir)
	calls := map[string]args{
		"read_file":  {},
		"write_file": {"content": "overwritten"},
		"edit_file":  {"oldText": "secret", "newText": "overwritten"},
		"list_dir":   {},
		"glob":       {"pattern": "**"},
		"grep":       {"pattern": "secret"},
	}
	for _, c := range []struct{ path, want string }{
		{"../secret.txt", "is outside the workspace"},
		{"in/../../secret.txt", "is outside the workspace"},
		{"..", "is outside the workspace"},
		{beside + "/secret.txt", "is outside the workspace"},
		{beside + "/ws2/secret.txt", "is outside the workspace"},
		{p.dir + "/../secret.txt", "is outside the workspace"},
		{"/etc/passwd", "is outside the workspace"},
		{"~/secret.txt", "is outside the workspace"},
		{"up", "leads outside the workspace"},
		{"updir/secret.txt", "leads outside the workspace"},
		{"updir", "leads outside the workspace"},
		{"upfolder", "leads outside the workspace"},
		{"upfolder/secret.txt", "leads outside the workspace"},
		{"upfolder/new.txt", "leads outside the workspace"},
		{"deep/up", "leads outside the workspace"},
		{"hop", "leads outside the workspace"},
		{"around", "leads outside the workspace"},
		{"abs-out", "leads outside the workspace"},
		{"etc", "leads outside the workspace"},
		{"etc/passwd", "leads outside the workspace"},
		{"loop", "symbolic links, or a loop"},
		{"loop1", "symbolic links, or a loop"},
	} {
		for name, a := range calls {
			a["path"] = c.path
			p.fails(name, a, c.want)
		}
	}
	for _, name := range []string{"secret.txt", "beside/secret.txt", "ws2/secret.txt"} {
		if got := p.read("../" + name); got != secret {
			t.Errorf("%s was changed to %q", name, got)
		}
	}
	if _, err := os.Lstat(filepath.Join(beside, "beside/new.txt")); err == nil {
		t.Error("a file was made outside the workspace")
	}
}

// A value for the gate is refused where the call would be, before it is asked.
func TestValuesOutside(t *testing.T) {
	p := escapees(t)
	for _, c := range []struct{ name, args string }{
		{"read_file", `{"path":"../secret.txt"}`},
		{"read_file", `{"path":"/etc/passwd"}`},
		{"read_file", `{"path":""}`},
		{"read_file", `{"path":"a","Path":3}`},
		{"write_file", `{"path":"../x","content":""}`},
		{"edit_file", `{"path":"../x","oldText":"a","newText":"b"}`},
		{"list_dir", `{"path":".."}`},
		{"glob", `{"pattern":"*","path":".."}`},
		{"grep", `{"pattern":"a","path":"/"}`},
		{"shell_exec", `{"command":" "}`},
		{"shell_exec", `[]`},
	} {
		if v, err := p.tools[c.name].Values(json.RawMessage(c.args)); err == nil {
			t.Errorf("%s.Values(%s) = %+v, want an error", c.name, c.args, v)
		}
	}
}

func TestLinksInside(t *testing.T) {
	p := escapees(t)
	for _, path := range []string{
		"in/a.txt", "./in//a.txt", "in/../in/a.txt", "near", "folder/a.txt", "abs-in", "deep/here", "self/self/in/a.txt",
		p.dir + "/in/a.txt", p.dir + "/folder/../near",
	} {
		if got := p.text("read_file", args{"path": path}); got != "     1→inside" {
			t.Errorf("read_file(%s): got %q", path, got)
		}
	}
	if got := p.text("grep", args{"path": "folder", "pattern": "ins"}); got != "in/a.txt:1: inside" {
		t.Errorf("grep in a linked folder: got %q", got)
	}
	if got := p.text("list_dir", args{"path": "self/folder"}); got != "a.txt  7 B" {
		t.Errorf("list_dir of a linked folder: got %q", got)
	}
}

// A workspace that is opened by way of a link takes absolute paths by both names.
func TestWorkspaceBehindLink(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"a.txt": "x"})
	link := filepath.Join(filepath.Dir(p.dir), "link")
	if err := os.Symlink(p.dir, link); err != nil {
		t.Fatal(err)
	}
	ws, err := tool.OpenWorkspace(link, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	if ws.Root() != p.dir {
		t.Errorf("Root() = %s, want %s", ws.Root(), p.dir)
	}
	for _, b := range tool.Builtin(ws) {
		p.tools[b.Spec().Name] = b
	}
	for _, path := range []string{p.dir + "/a.txt", link + "/a.txt", "a.txt"} {
		if got := p.text("read_file", args{"path": path}); got != "     1→x" {
			t.Errorf("read_file(%s): got %q", path, got)
		}
	}
}

// A folder that turns into a link and back while it is used never leads out.
func TestEscapeRace(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"real/secret.txt": "harmless", "real/sub/x": ""})
	p.put("../beside/secret.txt", secret)
	flip := filepath.Join(p.dir, "flip")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				os.Remove(flip)
				return
			default:
			}
			os.Symlink("real", flip)
			os.Remove(flip)
			os.Symlink("../beside", flip)
			os.Remove(flip)
			os.Rename(filepath.Join(p.dir, "real"), flip)
			os.Rename(flip, filepath.Join(p.dir, "real"))
		}
	}()
	for range 500 {
		for name, a := range map[string]args{
			"read_file":  {"path": "flip/secret.txt"},
			"grep":       {"pattern": "the", "path": "flip"},
			"list_dir":   {"path": "flip"},
			"write_file": {"path": "flip/secret.txt", "content": "harmless"},
		} {
			if r := p.call(name, a); strings.Contains(r.Text, secret) {
				t.Errorf("%s(%v) got out: %s", name, a, r.Text)
			}
		}
	}
	close(stop)
	<-stopped
	if got := p.read("../beside/secret.txt"); got != secret {
		t.Errorf("the secret was changed to %q", got)
	}
	entries, err := os.ReadDir(filepath.Join(filepath.Dir(p.dir), "beside"))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside holds %v (%v), want only the secret", entries, err)
	}
}

// A path that no system takes is refused before its folders are looked at.
func TestPathTooLong(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"a/f": "x"})
	long := strings.Repeat("a/", 1<<19) + "f"
	for name, a := range map[string]args{
		"read_file":  {"path": long},
		"write_file": {"path": long, "content": ""},
		"edit_file":  {"path": long, "oldText": "x", "newText": "y"},
		"list_dir":   {"path": long},
		"glob":       {"path": long, "pattern": "*"},
		"grep":       {"path": strings.Repeat("./", 2046) + "a/f/g", "pattern": "x"},
	} {
		p.fails(name, a, "no path may have more than 4096")
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.tools[name].Values(raw); err == nil || len(err.Error()) > 200 {
			t.Errorf("%s.Values with a path of %d bytes: %.300v, want a short error", name, len(a["path"].(string)), err)
		}
	}
	p.text("read_file", args{"path": strings.Repeat("./", 2046) + "a//f"})
}
