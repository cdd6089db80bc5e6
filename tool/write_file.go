package tool

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
)

type writeFileArgs struct {
	Path    string `json:"path" jsonschema:"The file to write: a path relative to the workspace, or an absolute one inside it. Folders that are missing are made."`
	Content string `json:"content" jsonschema:"The whole new content of the file, exactly as it shall be."`
}

func writeFile(ws *Workspace) Tool {
	return &function[writeFileArgs]{
		spec: Spec{
			Name: "write_file",
			Description: "Writes a file of the workspace: creates it, with its folders, or replaces all of its content. " +
				"Use edit_file to change a part of a file. The file is replaced in one step and keeps its mode; " +
				"a symbolic link is followed, not replaced; a read-only file is refused.",
			InputSchema:  schemaFor[writeFileArgs](),
			TellsChanges: true,
		},
		values: func(a writeFileArgs) ([]permission.Value, error) {
			values, err := ws.filePathValues("write_file", a.Path)
			return ws.withAgentFiles(values, func(string) ([]byte, error) { return []byte(a.Content), nil }), err
		},
		run: ws.writeAll,
	}
}

func (ws *Workspace) writeAll(ctx context.Context, call *Call, a writeFileArgs) (Result, error) {
	if limit := ws.opts.MaxFileBytes; int64(len(a.Content)) > limit {
		return Result{}, fmt.Errorf("content has %s, more than the %s that a file may have: write it in several files", showSize(int64(len(a.Content))), showSize(limit))
	}
	ws.writing.Lock()
	defer ws.writing.Unlock()
	rel, real, err := ws.locateFile(a.Path)
	if err != nil {
		return Result{}, err
	}
	if err := call.judged("write_file", real); err != nil {
		return Result{}, err
	}
	if err := ws.writers.check(call, real); err != nil {
		return Result{}, err
	}
	before := ws.hash(real)
	created, err := ws.replace(ctx, real, []byte(a.Content))
	if err != nil {
		return Result{}, err
	}
	ws.writers.wrote(call, real)
	lines := strings.Count(a.Content, "\n")
	if a.Content != "" && !strings.HasSuffix(a.Content, "\n") {
		lines++
	}
	verb := "replaced"
	if created {
		verb = "created"
	}
	return Result{
		Text:   fmt.Sprintf("%s %s: %s, %s", verb, showPath(rel), termtext.Plural(lines, "line"), termtext.Plural(len(a.Content), "byte")),
		Meta:   map[string]any{"path": rel, "created": created},
		Change: &Change{Path: real, Before: before, After: Hash([]byte(a.Content))},
	}, nil
}

// unreadable stands for the hash of a file that is there and can't be read.
const unreadable = "unreadable"

// hash returns the hash of the file real; empty means there is none.
func (ws *Workspace) hash(real string) string {
	if _, err := ws.root.Lstat(real); err != nil {
		return ""
	}
	f, _, err := ws.openFile(real)
	if err != nil {
		return unreadable
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return unreadable
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// replace puts content into the file real in one step: whoever reads it sees
// the old content or the new. A file that was there keeps its mode, a new one
// gets 0666 less the umask. If ctx ends before the step, the old content stays.
// The caller holds ws.writing.
func (ws *Workspace) replace(ctx context.Context, real string, content []byte) (created bool, err error) {
	if ctx.Err() != nil {
		return false, fmt.Errorf("%s: not written: %w", showPath(real), context.Cause(ctx))
	}
	dir, base, err := ws.openIn(real, true)
	if err != nil {
		return false, pathError(real, err)
	}
	defer dir.Close()
	var mode fs.FileMode // 0 means no such file yet
	switch info, err := dir.Lstat(base); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, pathError(real, err)
	case checkRegular(info) != nil:
		return false, pathError(real, checkRegular(info))
	case info.Mode().Perm()&0o200 == 0:
		return false, fmt.Errorf("%s is read-only (mode %04o): make it writable first", showPath(real), info.Mode().Perm())
	default:
		mode = info.Mode().Perm()
	}
	temp := ".worker-" + rand.Text() + ".tmp"
	if err := writeTemp(ctx, dir, temp, content, mode); err != nil {
		return false, pathError(real, err)
	}
	if err := dir.Rename(temp, base); err != nil {
		_ = dir.Remove(temp)
		if le, ok := errors.AsType[*os.LinkError](err); ok {
			err = le.Err
		}
		return false, pathError(real, err)
	}
	return mode == 0, nil
}

// writeTemp makes the file temp, with content on disk, or leaves none: so too
// if ctx ends meanwhile. internal/atomicfile does not serve: it takes a path,
// which a symlink made meanwhile could lead out of the workspace, and a mode
// whatever the umask.
func writeTemp(ctx context.Context, dir *os.Root, temp string, content []byte, mode fs.FileMode) (err error) {
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = dir.Remove(temp)
		}
	}()
	if mode != 0 {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(content, 1<<20) {
		if ctx.Err() != nil {
			break
		}
		if _, err := f.Write(part); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("not written: %w", context.Cause(ctx))
	}
	return nil
}
