package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool/internal/charset"
	"github.com/agentworker/worker/tool/internal/patch"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

type applyPatchArgs struct {
	Input string `json:"input" jsonschema:"The whole patch, from *** Begin Patch to *** End Patch."`
}

// patchDescription is what a model reads of the tool. The form is the one of package patch.
const patchDescription = `Changes files of the workspace by a patch: several files in one call, all of them or none.
A patch is an envelope of sections, one for each file:

*** Begin Patch
*** Add File: hello.txt
+Hello world
*** Update File: src/app.py
*** Move to: src/main.py
@@ def greet():
-print("Hi")
+print("Hello, world!")
*** Delete File: obsolete.txt
*** End Patch

- "*** Add File: PATH" makes a file: each line of it begins with +. "*** Delete File: PATH" removes one.
- "*** Update File: PATH" changes one. "*** Move to: PATH" right below gives it another path. Then come hunks, in the order of the file. Each begins with @@; its lines begin with a blank (context), - (removed) or + (added).
- Give three lines of context above and below a change. If they are not unique, write the class or function that they are in behind @@, or several @@ lines.
- Paths are relative to the workspace. Line ends, a byte order mark and modes are kept.`

func applyPatch(ws *Workspace) Tool {
	p := patches{ws}
	return &function[applyPatchArgs]{
		spec: Spec{
			Name:         toolcatalog.ApplyPatch,
			Description:  patchDescription,
			InputSchema:  schemaFor[applyPatchArgs](),
			TellsChanges: true,
			Local:        true,
			RuledBy:      toolcatalog.Writers,
			Trained:      true,
		},
		values:   p.values,
		describe: p.describe,
		run:      p.run,
	}
}

// patches is apply_patch in a workspace.
type patches struct{ *Workspace }

// values is what a patch wants: what edit_file wants of a file that is updated, and what
// write_file wants of one that is made, replaced, moved or removed.
func (ws patches) values(a applyPatchArgs) ([]permission.Value, error) {
	files, err := patch.Parse(a.Input)
	if err != nil {
		return nil, err
	}
	var values []permission.Value
	want := func(values *[]permission.Value, of func(path string) ([]permission.Value, error), path string) error {
		some, err := of(path)
		*values = append(*values, some...)
		return err
	}
	write := func(path string) ([]permission.Value, error) { return ws.filePathValues(toolcatalog.WriteFile, path) }
	for _, f := range files {
		if f.Op == patch.Update {
			err = want(&values, ws.editValues, f.Path)
		}
		if err == nil && (f.Op != patch.Update || f.MoveTo != "") {
			err = want(&values, write, f.Path)
		}
		if err == nil && f.MoveTo != "" {
			err = want(&values, write, f.MoveTo)
		}
		if err != nil {
			return nil, err
		}
	}
	return ws.withAgentFiles(values, func(real string) ([]byte, error) {
		all, err := ws.plan(nil, files)
		i := slices.IndexFunc(all, func(f *patchedFile) bool { return f.path == real })
		if i < 0 {
			return nil, errors.Join(err, fs.ErrNotExist)
		}
		return all[i].after, err
	}), nil
}

// patchedFile is what a patch makes of a file.
type patchedFile struct {
	fileChange
	rel string // its path as it is shown
}

// patching is a patch on its way. Later sections see what earlier ones have done.
type patching struct {
	ws    *Workspace
	call  *Call // nil means that nothing is judged: the outcome is only for a person
	files []*patchedFile
}

// plan returns what a patch makes of the files that it changes.
func (ws patches) plan(call *Call, files []patch.File) ([]*patchedFile, error) {
	p := &patching{ws: ws.Workspace, call: call}
	for _, f := range files {
		if err := p.apply(f); err != nil {
			return nil, err
		}
	}
	p.files = slices.DeleteFunc(p.files, func(f *patchedFile) bool {
		return f.existed == f.exists && (!f.exists || bytes.Equal(f.before, f.after))
	})
	if len(p.files) == 0 {
		return nil, errors.New("the patch changes nothing")
	}
	return p.files, nil
}

// file returns the file at a path, as a call of the tool may have it.
func (p *patching) file(tool, path string) (*patchedFile, error) {
	rel, real, err := p.ws.locateFile(path)
	if err != nil {
		return nil, err
	}
	if p.call != nil {
		if err := p.call.judged(tool, real); err != nil {
			return nil, err
		}
	}
	if i := slices.IndexFunc(p.files, func(f *patchedFile) bool { return f.path == real }); i >= 0 {
		return p.files[i], nil
	}
	f := &patchedFile{rel: rel, fileChange: fileChange{path: real, edited: true}}
	switch info, err := p.ws.files.Lstat(real); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, rootfs.PathError(real, err)
	default:
		f.existed, f.exists, f.mode = true, true, info.Mode().Perm()
		if f.before, err = p.ws.readWhole(p.call, tool, real); err != nil {
			return nil, err
		}
		f.after = f.before
	}
	p.files = append(p.files, f)
	return f, nil
}

// own returns the file at a path that is no link to another one: it is moved or removed.
func (p *patching) own(path string) (*patchedFile, error) {
	f, err := p.file(toolcatalog.WriteFile, path)
	switch {
	case err != nil:
		return nil, err
	case !f.exists:
		return nil, rootfs.PathError(f.rel, fs.ErrNotExist)
	case f.rel != f.path:
		return nil, fmt.Errorf("%s is a link to %s: give that path", rootfs.Show(f.rel), rootfs.Show(f.path))
	}
	return f, nil
}

// apply makes one section of a patch.
func (p *patching) apply(section patch.File) error {
	if section.Op == patch.Update {
		return p.update(section)
	}
	if section.Op == patch.Delete {
		f, err := p.own(section.Path)
		if err == nil {
			f.exists, f.edited, f.after = false, false, nil
		}
		return err
	}
	f, err := p.file(toolcatalog.WriteFile, section.Path)
	if err != nil {
		return err
	}
	content := []byte(section.Text)
	if _, stored, ok := charset.Decode(f.after); ok {
		if content, err = stored.Encode(content); err != nil {
			return fmt.Errorf("%s: %w", rootfs.Show(f.rel), err)
		}
	}
	f.exists, f.edited, f.after = true, false, content
	return p.bounded(f)
}

func (p *patching) update(section patch.File) error {
	f, err := p.file(toolcatalog.EditFile, section.Path)
	if err != nil {
		return err
	}
	if !f.exists {
		return rootfs.PathError(f.rel, fs.ErrNotExist)
	}
	if len(section.Hunks) > 0 {
		text, stored, ok := charset.Decode(f.after)
		if !ok {
			return fmt.Errorf("%s: %w", rootfs.Show(f.rel), errNoText)
		}
		after, err := patch.Apply(string(text), section.Hunks)
		if err == nil {
			f.after, err = stored.Encode([]byte(after))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", rootfs.Show(f.rel), err)
		}
	}
	if section.MoveTo == "" {
		return p.bounded(f)
	}
	if f, err = p.own(section.Path); err != nil {
		return err
	}
	to, err := p.file(toolcatalog.WriteFile, section.MoveTo)
	if err != nil || to == f {
		return err
	}
	to.exists, to.edited, to.after, to.mode = true, false, f.after, f.mode
	f.exists, f.edited, f.after = false, false, nil
	return p.bounded(to)
}

// bounded returns an error if a file has grown beyond the limit.
func (p *patching) bounded(f *patchedFile) error {
	if limit := p.ws.opts.MaxFileBytes; int64(len(f.after)) > limit {
		return fmt.Errorf("%s would have %s, more than the %s that a file may have", rootfs.Show(f.rel), showSize(int64(len(f.after))), showSize(limit))
	}
	return nil
}

func (ws patches) run(ctx context.Context, call *Call, a applyPatchArgs) (Result, error) {
	files, err := patch.Parse(a.Input)
	if err != nil {
		return Result{}, err
	}
	unlock, err := ws.lockNames()
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	planned, err := ws.plan(call, files)
	if err != nil {
		return Result{}, fmt.Errorf("nothing has changed: %w", err)
	}
	all, paths := make([]fileChange, len(planned)), make([]string, len(planned))
	text := "Success. Updated the following files:" // as the models know it
	for i, f := range planned {
		check := ws.changes.CheckReplace
		if f.edited {
			check = ws.changes.CheckEdit
		}
		if err := check(call.SessionID, call.Began, f.path, f.hash()); err != nil {
			return Result{}, fmt.Errorf("nothing has changed: %w", err)
		}
		all[i], paths[i] = f.fileChange, f.rel
		text += "\n" + f.sign() + " " + rootfs.Show(f.rel)
	}
	changed, err := ws.commit(ctx, call, all)
	if err != nil {
		return Result{}, err
	}
	return Result{Text: text, Meta: map[string]any{"paths": paths}, Changes: changed}, nil
}

// sign is the letter by which git names the change.
func (f *patchedFile) sign() string {
	switch {
	case !f.existed:
		return "A"
	case !f.exists:
		return "D"
	}
	return "M"
}

// describe describes a patch by what it makes of each file.
func (ws patches) describe(call *Call, a applyPatchArgs) Description {
	files, err := patch.Parse(a.Input)
	if err != nil {
		return DescribeArguments("apply a patch", call.Args)
	}
	planned, err := ws.plan(nil, files)
	if err != nil {
		return DescribeArguments("apply a patch", call.Args)
	}
	var d Description
	var titles []string
	for _, f := range planned {
		part := ws.describeFile(call, f)
		titles = append(titles, part.Title)
		for _, p := range part.Parts {
			if len(planned) > 1 {
				p.Name = rootfs.Show(f.rel) + ", " + p.Name
			}
			d.Parts = append(d.Parts, p)
		}
	}
	d.Title = strings.Join(titles, ", ")
	return d
}

// describeFile describes what a patch makes of one file.
func (ws patches) describeFile(call *Call, f *patchedFile) Description {
	if !f.exists {
		return Description{Title: "delete " + rootfs.Show(f.rel)}
	}
	return ws.describeChange(call, f.rel, func([]byte) (string, bool) {
		text, _, ok := charset.Decode(f.after)
		return string(text), ok
	})
}
