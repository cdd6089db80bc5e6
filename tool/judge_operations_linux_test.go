package tool_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// quoted is text as bash reads it.
func quoted(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return "$'" + b.String() + "'"
}

func (w *world) command(text string) string {
	return w.exec(w.text, text, nil).Text
}

// resolve returns the real path of a path of the workspace, which need not be there.
func (w *world) resolve(path string) (real string, ok bool) {
	real, err := filepath.EvalSymlinks(filepath.Join(w.dir, path))
	if err == nil {
		return real, strings.HasPrefix(real, w.dir+"/")
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	if _, err := os.Lstat(filepath.Join(w.dir, path)); err == nil {
		return "", false // a link that leads nowhere
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(filepath.Join(w.dir, path)))
	return filepath.Join(dir, filepath.Base(path)), err == nil && (dir == w.dir || strings.HasPrefix(dir, w.dir+"/"))
}

func (w *world) draw(rt *rapid.T, tree map[string]node) operation {
	path := drawPath(rt, "path")
	real, known := w.resolve(path)
	n, there := tree[real]
	isFile := known && there && n.mode == 0
	new := w.mark()
	changed := func(before, after map[string]node, _ string) bool {
		return strings.Contains(after[real].content, strings.TrimSpace(new))
	}
	switch kind := rapid.SampledFrom([]string{"cat", "read_file", "append", "write_file", "edit_file", "mv", "ln", "ln -s", "rm", "mkdir", "dd", "chain"}).Draw(rt, "operation"); kind {
	case "cat":
		return operation{
			"",
			kind + " " + path, func() string { return w.command("cat " + quoted(path)) },
			isFile && w.readable(tree, real) && !w.byDeniedLink(tree, real),
			func(_, _ map[string]node, output string) bool { return strings.Contains(output, n.content) },
		}
	case "append", "dd":
		text := "printf %s " + quoted(new) + " >> " + quoted(path)
		if kind == "dd" {
			text = "printf %s " + quoted(new) + " | dd status=none of=" + quoted(path)
		}
		return operation{
			"",
			kind + " " + path, func() string { return w.command(text) },
			isFile && w.writable(tree, real) && !w.byDeniedLink(tree, real) || known && !there && w.mayWrite(real) && w.open(tree, real), changed,
		}
	case "read_file":
		return w.byTool(kind, path, args{"path": path}, isFile && w.says("read_file", filepath.Join(w.dir, path)) && w.readable(tree, real),
			func(_, _ map[string]node, output string) bool {
				return strings.Contains(output, strings.TrimSpace(n.content))
			})
	case "write_file":
		return w.byTool(kind, path, args{"path": path, "content": new}, known && !there && w.says(kind, filepath.Join(w.dir, path)) && w.says(kind, real), changed)
	case "edit_file":
		return w.byTool(kind, path, args{"path": path, "old": strings.TrimSpace(n.content), "new": new}, false, changed)
	}
	other := drawPath(rt, "other")
	to, toKnown := w.resolve(other)
	_, toThere := tree[to]
	own := !there || tree[filepath.Join(w.dir, path)].mode == 0
	free := isFile && own && w.writable(tree, real) && !w.byDeniedLink(tree, real)
	toFree := toKnown && !toThere && w.mayWrite(to) && w.open(tree, to)
	moved := func(_, after map[string]node, _ string) bool { return after[to].content == n.content }
	switch kind := rapid.SampledFrom([]string{"mv", "ln", "ln -s", "rm", "mkdir", "chain"}).Draw(rt, "names"); kind {
	case "mv", "ln":
		text := kind + " -T " + quoted(path) + " " + quoted(other)
		return operation{"", text, func() string { return w.command(text + "; cat " + quoted(other)) }, free && toFree, moved}
	case "ln -s":
		text := "ln -sT " + quoted(w.dir+"/"+path) + " " + quoted(other)
		return operation{"", text, func() string {
			return w.command(text + "; cat " + quoted(other) + "; printf " + quoted(new) + " >> " + quoted(other))
		}, false, nil}
	case "rm":
		return operation{"", "rm " + path, func() string { return w.command("rm -f " + quoted(path)) }, free, func(_, after map[string]node, _ string) bool { return after[real].content == "" }}
	case "mkdir":
		return operation{"", "mkdir " + other, func() string { return w.command("mkdir -p " + quoted(other+"/x")) }, false, nil}
	}
	from, at := rapid.SampledFrom(worldFolders).Draw(rt, "folder"), rapid.SampledFrom(worldFolders).Draw(rt, "to folder")
	text := fmt.Sprintf("mv -T %[1]s %[2]s; mv -T %[2]s n; cat n/* n/*/* %[2]s/*; for f in n/* %[2]s/*; do printf %[3]s >> $f; done; cp -r n m; ln n/x l; cat l; rm -rf n", quoted(from), quoted(at), quoted(strings.TrimSpace(new)))
	return operation{"", text, func() string { return w.command(text) }, false, nil}
}

// open reports whether commands may make a name that the rules allow. In a folder of which all is denied
// they may not.
func (w *world) open(tree map[string]node, path string) bool {
	dir := filepath.Dir(path)
	if w.byDeniedLink(tree, path) || !w.says("read_file", dir) {
		return false
	}
	empty := true
	for name, n := range tree {
		if filepath.Dir(name) == dir {
			if empty = false; n.mode == 0 && w.mayWrite(name) {
				return true
			}
		}
	}
	return empty || w.mayWrite(dir)
}

// byTool is a call of a file tool. Names that are not UTF-8 can't be in its arguments.
func (w *world) byTool(name, path string, a args, must bool, done func(before, after map[string]node, output string) bool) operation {
	return operation{name, name + " " + path, func() string {
		if !utf8.ValidString(path) {
			return ""
		}
		text, _ := w.judgeAndRun(w.rules, name, a)
		return text
	}, must && utf8.ValidString(path), done}
}
