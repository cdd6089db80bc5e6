package tool

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool/internal/charset"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

type writeFileArgs struct {
	Path    string `json:"path" jsonschema:"The file to write: a path relative to the workspace, or an absolute one inside it. Folders that are missing are made."`
	Content string `json:"content" jsonschema:"The whole new content of the file, exactly as it shall be."`
}

func writeFile(ws *Workspace) Tool {
	return &function[writeFileArgs]{
		spec: Spec{
			Name: toolcatalog.WriteFile,
			Description: "Writes a file of the workspace: creates it, with its folders, or replaces all of its content. " +
				"Use edit_file to change a part of a file. The file is replaced in one step and keeps its mode; " +
				"a symbolic link is followed, not replaced; a read-only file is refused.",
			InputSchema:  schemaFor[writeFileArgs](),
			TellsChanges: true,
			Local:        true,
		},
		values: func(a writeFileArgs) ([]permission.Value, error) {
			values, err := ws.filePathValues(toolcatalog.WriteFile, a.Path)
			return ws.withAgentFiles(values, func(string) ([]byte, error) { return []byte(a.Content), nil }), err
		},
		describe: func(call *Call, a writeFileArgs) Description {
			return ws.describeChange(call, a.Path, func([]byte) (string, bool) { return a.Content, true })
		},
		run: ws.writeAll,
	}
}

func (ws *Workspace) writeAll(ctx context.Context, call *Call, a writeFileArgs) (Result, error) {
	if limit := ws.opts.MaxFileBytes; int64(len(a.Content)) > limit {
		return Result{}, fmt.Errorf("content has %s, more than the %s that a file may have: write it in several files", showSize(int64(len(a.Content))), showSize(limit))
	}
	unlock, err := ws.lockNames()
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	rel, real, err := ws.locateFile(a.Path)
	if err != nil {
		return Result{}, err
	}
	if err := call.judged(toolcatalog.WriteFile, real); err != nil {
		return Result{}, err
	}
	before := ws.files.Hash(real)
	if err := ws.changes.CheckReplace(call.SessionID, call.Began, real, before); err != nil {
		return Result{}, err
	}
	content := []byte(a.Content)
	if _, stored, ok := charset.Decode(ws.contentOf(real)); ok {
		if content, err = stored.Encode(content); err != nil {
			return Result{}, fmt.Errorf("%s: %w, or remove the file first to have it as UTF-8", rootfs.Show(rel), err)
		}
	}
	change := fileChange{path: real, existed: before != "", hashed: before, after: content, exists: true}
	if old := ws.contentOf(real); old != nil && Hash(old) == before {
		change.before = old
	}
	changed, err := ws.commit(ctx, call, []fileChange{change})
	if err != nil {
		return Result{}, err
	}
	lines := strings.Count(a.Content, "\n")
	if a.Content != "" && !strings.HasSuffix(a.Content, "\n") {
		lines++
	}
	verb := "replaced"
	if before == "" {
		verb = "created"
	}
	return Result{
		Text:    fmt.Sprintf("%s %s: %s, %s", verb, rootfs.Show(rel), termtext.Plural(lines, "line"), termtext.Plural(len(a.Content), "byte")),
		Meta:    map[string]any{"path": rel, "created": before == ""},
		Changes: changed,
	}, nil
}

// fileChange is what a call makes of one file.
type fileChange struct {
	path    string // where symbolic links lead
	before  []byte
	existed bool
	hashed  string      // the hash of before, where before itself was not read
	mode    fs.FileMode // of before, and of a new file; 0 means 0666 less the umask
	after   []byte
	exists  bool
	edited  bool // the call knows a part of the content, and has kept the rest
}

// hash is the hash of what the file was; empty means there was none.
func (c *fileChange) hash() string {
	if c.existed && c.hashed == "" {
		return Hash(c.before)
	}
	return c.hashed
}

// commit makes the changes of a call, all of them or none, and notes them. The caller holds
// ws.writing.
func (ws *Workspace) commit(ctx context.Context, call *Call, all []fileChange) ([]Change, error) {
	slices.SortStableFunc(all, func(a, b fileChange) int { // what is removed comes last
		switch {
		case a.exists == b.exists:
			return 0
		case a.exists:
			return -1
		}
		return 1
	})
	for _, c := range all {
		if err := keep(ws, call, &c); err != nil {
			return nil, err
		}
	}
	for i, c := range all {
		err := ws.writable(c.path) // which the change before may have changed
		if err == nil {
			err = c.make(ctx, ws.files)
		}
		if err != nil {
			return nil, takeBack(ctx, ws.files, all[:i], err)
		}
	}
	changed := make([]Change, len(all))
	for i, c := range all {
		changed[i] = Change{Path: c.path, Before: c.hash()}
		if c.exists {
			changed[i].After = Hash(c.after)
		}
		switch after := changed[i].After; {
		case !c.exists:
			ws.changes.Removed(c.path)
		case c.edited:
			ws.changes.Edited(call.SessionID, call.Agent, c.path, changed[i].Before, after)
		default:
			ws.changes.Replaced(call.SessionID, call.Agent, c.path, after)
		}
	}
	return changed, nil
}

// keep keeps what a file is.
func keep(ws *Workspace, call *Call, c *fileChange) error {
	if ws.opts.Keep == nil || call.SessionID == "" {
		return nil
	}
	k := Kept{SessionID: call.SessionID, Step: call.Step, Root: ws.files.Dir(), Change: Change{Path: c.path, Before: c.hash()}, Content: c.before, Mode: c.mode}
	if info, err := ws.files.Lstat(c.path); err == nil {
		k.Mode = info.Mode().Perm()
	}
	if c.exists {
		k.After = Hash(c.after)
	}
	if err := ws.opts.Keep(k); err != nil {
		return fmt.Errorf("%s is not changed, since what it is can't be kept: %w", rootfs.Show(c.path), err)
	}
	return nil
}

func (c *fileChange) make(ctx context.Context, files *rootfs.Folder) error {
	if !c.exists {
		return files.Remove(c.path)
	}
	_, err := files.Replace(ctx, c.path, c.after, c.mode)
	return err
}

// takeBack makes done changes undone, since the next one failed for why.
func takeBack(ctx context.Context, files *rootfs.Folder, done []fileChange, why error) error {
	for _, c := range slices.Backward(done) {
		c.after, c.exists = c.before, c.existed
		if err := c.make(context.WithoutCancel(ctx), files); err != nil {
			why = fmt.Errorf("%w; and %s stays changed: %v", why, rootfs.Show(c.path), err)
		}
	}
	return why
}
