package tool

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

type listDirArgs struct {
	Path string `json:"path,omitempty" jsonschema:"The folder to list: a path relative to the workspace, or an absolute one inside it. Default: the workspace itself."`
}

func listDir(ws *Workspace) Tool {
	return &function[listDirArgs]{
		spec: Spec{
			Name: toolcatalog.ListDir,
			Description: "Lists what is in a folder of the workspace, by name, one level deep: folders with a slash at the end, files with their size, " +
				"symbolic links with where they lead. Leaves out .git and what .gitignore names. Use glob to find files at any depth.",
			InputSchema: schemaFor[listDirArgs](),
			ReadOnly:    true,
			Local:       true,
		},
		values: func(a listDirArgs) ([]permission.Value, error) {
			return ws.pathValues(toolcatalog.ListDir, a.Path)
		},
		describe: func(call *Call, a listDirArgs) Description {
			return DescribeArguments("list the folder "+cmp.Or(a.Path, "."), call.Args, "path")
		},
		run: func(ctx context.Context, call *Call, a listDirArgs) (Result, error) {
			return ws.list(ctx, call, a)
		},
	}
}

func (ws *Workspace) list(ctx context.Context, call *Call, a listDirArgs) (Result, error) {
	w, err := ws.newWalker(call, a.Path)
	if err != nil {
		return Result{}, err
	}
	if !w.info.IsDir() {
		return Result{}, fmt.Errorf("%s is a file: read it with read_file", rootfs.Show(w.given))
	}
	entries, err := ws.files.ReadDir(ctx, w.base)
	if err != nil {
		return Result{}, err
	}
	rules := w.rulesFor(ctx, w.base)
	out := ws.newOutput()
	shown, more, ignored := 0, 0, 0
	for _, e := range entries {
		if ctx.Err() != nil {
			break // the notes say so
		}
		name := path.Join(w.base, e.Name())
		switch {
		case e.Name() == gitDir:
		case rules.Ignored(name, e.IsDir()):
			ignored++
		case !w.visible(name):
		case out.full || !out.line(ws.listLine(name, e)):
			more++
		default:
			shown++
		}
	}
	if shown+more == 0 {
		out.note("nothing to show in %s", rootfs.Show(w.given))
	}
	if more > 0 {
		out.note("%d of %d entries shown; see the rest with glob, path=%q and a narrower pattern", shown, shown+more, w.given)
	}
	if ignored > 0 {
		out.note("%s by .gitignore", termtext.Plural(ignored, "entry left out", "entries left out"))
	}
	w.notes(ctx, out)
	return out.result(), nil
}

// listLine is the line of one entry.
func (ws *Workspace) listLine(name string, e fs.DirEntry) string {
	base := rootfs.Show(e.Name())
	switch e.Type() {
	case fs.ModeDir:
		return base + "/"
	case fs.ModeSymlink:
		target, err := ws.files.Readlink(name)
		if err != nil {
			return base + " -> ?"
		}
		return base + " -> " + rootfs.Show(target)
	case 0:
		info, err := ws.files.Lstat(name)
		if err != nil {
			return base // gone meanwhile
		}
		return fmt.Sprintf("%s  %s", base, showSize(info.Size()))
	}
	return base + "  (a pipe, socket or device)"
}
