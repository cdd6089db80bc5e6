package tool_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
	"pgregory.net/rapid"
)

// TestJudgeIsKept: in random trees, under random rules, what the rules say of a file is what file
// tools and commands can do with it. Nothing that is denied comes through, by whatever name, and
// nothing that is allowed is refused.
func TestJudgeIsKept(t *testing.T) {
	rounds := 1
	if os.Getenv("WORKER_TEST_LONG") != "" {
		rounds = 20
	}
	for range rounds {
		rapid.Check(t, func(rt *rapid.T) {
			w := drawWorld(t, rt)
			defer w.close()
			for range rapid.IntRange(1, 4).Draw(rt, "operations") {
				w.operate(rt)
			}
		})
	}
}

// world is a workspace, the rules about it, and what they say.
type world struct {
	*place
	ws    *tool.Workspace
	text  string // the rules
	rules *permission.Layers
	paths permission.Workspace
	marks int
}

var (
	worldFolders = []string{"a", "b", "conf", "conf/prod", "conf/prod/in", ".hid", "a/\xffd"}
	worldFiles   = []string{"x", "y.txt", ".env", "k.pem", "X", "\xe9", "sp ace"}
)

// drawPath draws a path of the world, there or not.
func drawPath(rt *rapid.T, label string) string {
	dir := rapid.SampledFrom(append([]string{"."}, worldFolders...)).Draw(rt, label+" in")
	return filepath.Join(dir, rapid.SampledFrom(worldFiles).Draw(rt, label))
}

func drawRules(rt *rapid.T, root string) string {
	patterns := []string{"*", "*.env", "*.pem", "a/**", "a/*", "b/x", "conf/prod/**", "conf/**", "**/x", "x", "*/y.txt", ".hid/*", "conf/prod", root + "/a/**", root + "/b/*.txt"}
	rulesFor := func(tool string) string {
		var b strings.Builder
		used := map[string]bool{"*": true}
		fmt.Fprintf(&b, `"%s": {"*": "%s"`, tool, rapid.SampledFrom([]string{"allow", "allow", "allow", "deny", "ask"}).Draw(rt, tool))
		for range rapid.IntRange(0, 4).Draw(rt, tool+" rules") {
			pattern := rapid.SampledFrom(patterns).Draw(rt, "pattern")
			if used[pattern] {
				continue
			}
			used[pattern] = true
			fmt.Fprintf(&b, `, "%s": "%s"`, pattern, rapid.SampledFrom([]string{"allow", "deny", "deny", "ask"}).Draw(rt, "action"))
		}
		return b.String() + "}"
	}
	return `{"*": "allow", ` + rulesFor("read_file") + ", " + rulesFor("write_file") + `, "edit_file": {"*": "allow"` + rapid.SampledFrom([]string{"", `, "*.pem": "deny"`}).Draw(rt, "edit") + "}}"
}

func drawWorld(t *testing.T, rt *rapid.T) *world {
	dir, err := os.MkdirTemp("", "judge-")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "ws")
	w := &world{place: &place{t: t, dir: root, tools: map[string]tool.Tool{}}, text: drawRules(rt, root), paths: permission.Workspace{Root: root, Home: dir + "/home"}}
	w.rules = layersOf(t, w.text)
	rt.Log("rules:", w.text)
	must(t, os.MkdirAll(dir+"/home", 0o755))
	must(t, os.MkdirAll(root, 0o755))
	for _, d := range worldFolders {
		if rapid.IntRange(0, 3).Draw(rt, "folder "+d) > 0 {
			must(t, os.MkdirAll(filepath.Join(root, d), 0o755))
		}
	}
	for range rapid.IntRange(1, 8).Draw(rt, "files") {
		w.plant(rt)
	}
	w.ws, err = tool.OpenWorkspace(root, &tool.Options{Home: dir + "/home"})
	must(t, err)
	for _, b := range tool.Builtin(w.ws) {
		w.tools[b.Spec().Name] = b
	}
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) close() {
	for _, b := range w.tools {
		if s, ok := b.(tool.Sandboxed); ok {
			must(w.t.(*testing.T), s.EndSession("ses"))
		}
	}
	must(w.t.(*testing.T), w.ws.Close())
	must(w.t.(*testing.T), os.RemoveAll(filepath.Dir(w.dir)))
}

// mark is a content that no other file has.
func (w *world) mark() string {
	w.marks++
	return fmt.Sprintf("mark-%d-.\n", w.marks)
}

// plant makes a file, a hard link or a symlink, from outside.
func (w *world) plant(rt *rapid.T) {
	path := drawPath(rt, "file")
	full := filepath.Join(w.dir, path)
	switch rapid.SampledFrom([]string{"file", "file", "file", "hard", "link", "folder link"}).Draw(rt, "kind") {
	case "file":
		if _, err := os.Lstat(full); err != nil {
			_ = os.WriteFile(full, []byte(w.mark()), 0o644)
			rt.Logf("file %q", path)
		}
	case "hard":
		to := drawPath(rt, "of")
		if info, err := os.Lstat(filepath.Join(w.dir, to)); err == nil && info.Mode().IsRegular() && os.Link(filepath.Join(w.dir, to), full) == nil {
			rt.Logf("hard link %q of %q", path, to)
		}
	case "link":
		to := drawPath(rt, "to")
		if os.Symlink(filepath.Join(w.dir, to), full) == nil {
			rt.Logf("link %q to %q", path, to)
		}
	case "folder link":
		to := rapid.SampledFrom(worldFolders).Draw(rt, "to")
		if os.Symlink(filepath.Join(w.dir, to), full) == nil {
			rt.Logf("link %q to %q", path, to)
		}
	}
}

// node is a name in the workspace.
type node struct {
	content string // of a file, or where a link leads
	mode    fs.FileMode
	inode   uint64
}

// look returns all that the workspace has.
func (w *world) look() map[string]node {
	out := make(map[string]node)
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == w.dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n := node{mode: info.Mode().Type(), inode: info.Sys().(*syscall.Stat_t).Ino}
		switch n.mode {
		case 0:
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n.content = string(content)
		case fs.ModeSymlink:
			n.content, _ = os.Readlink(path)
		}
		out[path] = n
		return nil
	})
	must(w.t.(*testing.T), err)
	return out
}

// says is what the rules say of one name.
func (w *world) says(name, path string) bool {
	return w.rules.Decide([]permission.Value{w.paths.FileValue(name, path)}).Action == permission.Allow
}

// mayWrite reports whether the rules let the name be written.
func (w *world) mayWrite(path string) bool {
	return w.says("write_file", path) && w.rules.Decide([]permission.Value{w.paths.FileValue("edit_file", path)}).Action != permission.Deny
}

// every reports whether what holds holds for all names of the file.
func (w *world) every(tree map[string]node, path string, holds func(string) bool) bool {
	for name, n := range tree {
		if n.mode == 0 && n.inode == tree[path].inode && !holds(name) {
			return false
		}
	}
	return true
}

func (w *world) readable(tree map[string]node, path string) bool {
	return w.every(tree, path, func(n string) bool { return w.says("read_file", n) })
}

func (w *world) writable(tree map[string]node, path string) bool {
	return w.readable(tree, path) && w.every(tree, path, w.mayWrite)
}

// byDeniedLink reports whether a link whose own name is denied leads to the file or a folder above
// it. Nothing that it leads to is there for commands.
func (w *world) byDeniedLink(tree map[string]node, path string) bool {
	for name, n := range tree {
		if n.mode != fs.ModeSymlink || w.says("read_file", name) {
			continue
		}
		if real, err := filepath.EvalSymlinks(name); err == nil && (path == real || strings.HasPrefix(path, real+"/")) {
			return true
		}
	}
	return false
}

// operation is one thing that is tried. must says that it has to succeed, and done whether it did.
type operation struct {
	tool string // "" is a command
	name string
	run  func() (output string)
	must bool
	done func(before, after map[string]node, output string) bool
}

func (w *world) operate(rt *rapid.T) {
	before := w.look()
	op := w.draw(rt, before)
	mayWrite := w.mayWrite
	if op.tool != "" {
		mayWrite = func(path string) bool { return w.says(op.tool, path) }
	}
	output := op.run()
	after := w.look()
	rt.Logf("%s: %.300q", op.name, output)
	fail := func(format string, args ...any) {
		rt.Fatalf("%s\nrules %s\nbefore %s\nafter %s\noutput %s\n%s", op.name, w.text, showTree(w.dir, before), showTree(w.dir, after), output, fmt.Sprintf(format, args...))
	}
	for path, n := range before {
		if n.mode != 0 {
			continue
		}
		if strings.Contains(output, strings.TrimSpace(n.content)) && n.content != "" && !w.readable(before, path) {
			fail("%q was read", path)
		}
		if now, there := after[path]; !mayWrite(path) && (!there || now.content != n.content) {
			fail("%q was changed", path)
		}
	}
	for path, n := range after {
		if _, old := before[path]; !old && !mayWrite(path) && !(op.tool != "" && n.mode.IsDir()) { // a tool makes the folders of its file
			fail("%q was made", path)
		}
	}
	if op.must && !op.done(before, after, output) {
		fail("it was refused")
	}
}

func showTree(root string, tree map[string]node) string {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		n := tree[path]
		fmt.Fprintf(&b, "\n  %q %s %q %d", strings.TrimPrefix(path, root+"/"), n.mode, n.content, n.inode%1000)
	}
	return b.String()
}
