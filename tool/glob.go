package tool

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/agentworker/worker/internal/fileglob"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

type globArgs struct {
	Pattern string `json:"pattern" jsonschema:"The pattern, relative to path. * and ? stop at a slash, ** crosses folders, [a-z] and {a,b} work as in a shell. Without a slash it is matched against file names at any depth: *.go finds every Go file."`
	Path    string `json:"path,omitempty" jsonschema:"The folder to search in. Default: the workspace itself."`
}

func globFiles(ws *Workspace) Tool {
	return &function[globArgs]{
		spec: Spec{
			Name: toolcatalog.Glob,
			Description: "Finds files of the workspace by their names, such as **/*_test.go or src/**/*.{ts,tsx}. " +
				"Gives their paths, relative to the workspace, in path order. Folders are not among the results. " +
				"Leaves out .git and what .gitignore names; a path that is itself ignored is searched. Use grep to search in their content.",
			InputSchema: schemaFor[globArgs](),
			ReadOnly:    true,
			Local:       true,
		},
		values: func(a globArgs) ([]permission.Value, error) {
			return ws.pathValues(toolcatalog.Glob, a.Path)
		},
		describe: func(call *Call, a globArgs) Description {
			return DescribeArguments(fmt.Sprintf("list the files that match %s in %s", a.Pattern, cmp.Or(a.Path, ".")), call.Args, "pattern", "path")
		},
		run: func(ctx context.Context, call *Call, a globArgs) (Result, error) {
			return ws.globPaths(ctx, call, a)
		},
	}
}

func (ws *Workspace) globPaths(ctx context.Context, call *Call, a globArgs) (Result, error) {
	w, err := ws.newWalker(call, a.Path)
	if err != nil {
		return Result{}, err
	}
	if !w.info.IsDir() {
		return Result{}, fmt.Errorf("%s is a file: path is the folder to search in", rootfs.Show(w.given))
	}
	if w.base == "." {
		a.Pattern = ws.relPattern(a.Pattern)
	}
	if w.glob, err = fileglob.Compile(a.Pattern); err != nil {
		return Result{}, err
	}
	w.links = true
	out := ws.newOutput()
	shown := 0
	for name := range w.files(ctx) {
		if !out.line(rootfs.Show(name)) {
			break
		}
		shown++
	}
	switch {
	case out.full:
		out.note("the first %s; there are more: narrow the pattern or the path", termtext.Plural(shown, "result"))
	case shown == 0 && ctx.Err() == nil:
		ws.globIgnored(ctx, w, a.Pattern, out)
	}
	w.notes(ctx, out)
	return out.result(), nil
}

// globIgnored says what of a pattern that matches no other file is ignored by git: a file that
// the pattern names is a result.
func (ws *Workspace) globIgnored(ctx context.Context, w *walker, pattern string, out *output) {
	all := *w
	all.ignored, all.leftOut = true, 0
	named := path.Join(w.base, pattern)
	n := 0
	for name := range all.files(ctx) {
		if name == named {
			out.line(rootfs.Show(name))
			out.note("it is ignored by git")
			return
		}
		if n++; n == maxIgnored {
			break
		}
	}
	out.note("no file matches %q below %s", pattern, rootfs.Show(w.given))
	if n == maxIgnored {
		out.note("%d or more matches are ignored by git: give their folder as path to see them", n)
	} else if n > 0 {
		out.note("%s ignored by git: give their folder as path to see them", termtext.Plural(n, "match is", "matches are"))
	}
}

// maxIgnored bounds how many ignored files are counted.
const maxIgnored = 1000

// relPattern makes a pattern that begins with the path of the workspace
// relative to it.
func (ws *Workspace) relPattern(pattern string) string {
	for _, name := range ws.files.Names() {
		if rest, ok := strings.CutPrefix(pattern, name+"/"); ok {
			return "./" + rest
		}
	}
	return pattern
}
