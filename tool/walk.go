package tool

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/fileglob"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/tool/internal/ignore"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

// gitDir is skipped in every folder.
const gitDir = ".git"

// walker goes through the files below a folder, in path order: the entries of a folder
// by name, each folder followed by its content. It skips .git and what .gitignore
// names, follows no symbolic links, and leaves out what the session may not see.
type walker struct {
	ws       *Workspace
	readable func(path string) bool // nil means all is readable
	glob     *fileglob.Glob         // matched against the path below the base; nil means all
	links    bool                   // symbolic links are among the results
	ignored  bool                   // what .gitignore names is not skipped

	given string // the base as the model named it, cleaned
	base  string // where that leads
	info  fs.FileInfo

	leftOut    int // files that the session may not see
	unreadable int // folders that could not be read

	unreadRules bool // of .gitignore files: they are beyond the bounds
}

// newWalker prepares a walk through what p leads to: a folder, or a file, which
// is then the only one. An empty p is ".".
func (ws *Workspace) newWalker(call *Call, p string) (*walker, error) {
	given, base, err := ws.files.Locate(p)
	if err != nil {
		return nil, err
	}
	info, err := ws.files.Lstat(base)
	if err != nil {
		return nil, rootfs.PathError(given, err)
	}
	if !info.IsDir() && rootfs.CheckRegular(info) != nil {
		return nil, rootfs.PathError(given, rootfs.CheckRegular(info))
	}
	return &walker{ws: ws, readable: call.Readable, given: given, base: base, info: info}, nil
}

// files yields the paths of the files, relative to the workspace, until ctx ends.
func (w *walker) files(ctx context.Context) iter.Seq[string] {
	return func(yield func(string) bool) {
		if w.info.IsDir() {
			w.folder(ctx, w.base, w.rulesFor(ctx, w.base), yield)
		} else if w.visible(w.base) {
			yield(w.base)
		}
	}
}

// folder yields the files below dir. It returns false to end the walk.
func (w *walker) folder(ctx context.Context, dir string, rules ignore.Rules, yield func(string) bool) bool {
	entries, err := w.ws.files.ReadDir(ctx, dir)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		w.unreadable++
		return true
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return false
		}
		name := path.Join(dir, e.Name())
		isDir := e.IsDir()
		switch {
		case e.Name() == gitDir || rules.Ignored(name, isDir):
		case isDir:
			if w.glob != nil && !w.glob.MayMatchBelow(w.below(name)) {
				continue
			}
			if !w.folder(ctx, name, w.rulesIn(ctx, name, rules), yield) {
				return false
			}
		case !e.Type().IsRegular() && !(w.links && e.Type()&fs.ModeSymlink != 0):
		case w.glob != nil && !w.glob.Match(w.below(name)):
		case !w.visible(name):
		case !yield(name):
			return false
		}
	}
	return true
}

// below returns the part of a path that is below the base.
func (w *walker) below(name string) string {
	if w.base == "." {
		return name
	}
	return strings.TrimPrefix(name, w.base+"/")
}

// visible reports whether the session may see the path, and counts it if not.
// Where the base was reached by a symbolic link, the path by way of that link
// must be visible as well.
func (w *walker) visible(name string) bool {
	if w.readable == nil {
		return true
	}
	ok := w.readable(name)
	if ok && w.given != w.base {
		asGiven := w.given
		if name != w.base {
			asGiven = path.Join(w.given, w.below(name))
		}
		ok = w.readable(asGiven)
	}
	if !ok {
		w.leftOut++
	}
	return ok
}

// notes adds to out what a reader should know about the walk.
func (w *walker) notes(ctx context.Context, out *output) {
	out.leftOut(w.leftOut)
	if w.unreadable > 0 {
		out.note("%s could not be read", termtext.Plural(w.unreadable, "folder"))
	}
	if w.unreadRules {
		out.note(".gitignore was not read to its end: at most %d rules hold in a folder, of at most %d bytes each", ignore.MaxRules, ignore.MaxLine)
	}
	if ctx.Err() != nil {
		out.full = true
		out.note("stopped early: %v; the results are not complete: give a narrower path", context.Cause(ctx))
	}
}

// rulesFor returns the rules that hold in the folder dir. If dir itself is ignored, the
// rules of the folders above it do not count: a caller that names an ignored folder
// wants to see its content.
func (w *walker) rulesFor(ctx context.Context, dir string) ignore.Rules {
	rules := w.readIgnoreFile(ctx, nil, gitDir+"/info/exclude", 0)
	rules = w.readIgnoreFile(ctx, rules, ".gitignore", 0)
	if dir == "." {
		return rules
	}
	at := ""
	for i, name := range strings.Split(dir, "/") {
		at = path.Join(at, name)
		if rules.Ignored(at, true) || name == gitDir {
			rules = nil
		}
		rules = w.readIgnoreFile(ctx, rules, at+"/.gitignore", i+1)
	}
	return rules
}

// rulesIn returns the rules in force in the folder dir, given the ones of the folder
// above it.
func (w *walker) rulesIn(ctx context.Context, dir string, above ignore.Rules) ignore.Rules {
	return w.readIgnoreFile(ctx, above, dir+"/.gitignore", strings.Count(dir, "/")+1)
}

// readIgnoreFile returns rules and those of a file, if there is one to read. It
// stops when ctx ends, and notes in w.unreadRules what is beyond the bounds.
func (w *walker) readIgnoreFile(ctx context.Context, rules ignore.Rules, name string, depth int) ignore.Rules {
	if w.ignored {
		return nil
	}
	if ctx.Err() != nil {
		return rules
	}
	f, info, err := w.ws.files.OpenFile(name)
	if err != nil {
		return rules
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, ignore.MaxBytes))
	if err != nil {
		return rules
	}
	w.unreadRules = w.unreadRules || info.Size() > ignore.MaxBytes
	rules = slices.Clip(rules) // siblings share what is above them
	for line := range strings.Lines(strings.TrimPrefix(string(text), string(utf8BOM))) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		if len(line) > ignore.MaxLine {
			w.unreadRules = true
			continue
		}
		if len(rules) >= ignore.MaxRules {
			w.unreadRules = true
			break
		}
		if ctx.Err() != nil {
			break
		}
		rules = append(rules, ignore.ParseLine(line, depth))
	}
	return rules
}
