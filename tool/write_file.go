package tool

import (
	"context"
	"fmt"
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
	if err := ws.writable(real); err != nil {
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
	created, err := ws.files.Replace(ctx, real, content)
	if err != nil {
		return Result{}, err
	}
	after := Hash(content)
	ws.changes.Replaced(call.SessionID, call.Agent, real, after)
	lines := strings.Count(a.Content, "\n")
	if a.Content != "" && !strings.HasSuffix(a.Content, "\n") {
		lines++
	}
	verb := "replaced"
	if created {
		verb = "created"
	}
	return Result{
		Text:   fmt.Sprintf("%s %s: %s, %s", verb, rootfs.Show(rel), termtext.Plural(lines, "line"), termtext.Plural(len(a.Content), "byte")),
		Meta:   map[string]any{"path": rel, "created": created},
		Change: &Change{Path: real, Before: before, After: after},
	}, nil
}
