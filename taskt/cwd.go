package taskt

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
)

// hold holds the child that is to be opened to the folder that the call names:
// rules that no other lifts deny it the files of the workspace elsewhere, and its
// commands begin there. What it makes subagents is held to the same.
func (c *call) hold(at *Place, spec *session.Spec) (*Place, error) {
	if c.in.Cwd == "" {
		return at, nil
	}
	in, root, outer := c.service.in, c.service.root, ""
	held := &Place{Paths: permission.Workspace{Root: root}, In: in}
	if at != nil {
		copied := *at
		held, in, root, outer = &copied, at.In, at.Paths.Root, at.Dir
	}
	if in == nil {
		return nil, errors.New("cwd: no agent can be held to a folder here")
	}
	dir, err := folderIn(root, outer, c.in.Cwd)
	if err != nil {
		return nil, err
	}
	if dir == "." {
		return at, nil
	}
	if err := c.restrict(spec, heldTo(dir)...); err != nil {
		return nil, err
	}
	held.Dir, held.Tools = dir, in(dir)
	if spec.ID == "" {
		spec.ID = store.NewID("ses")
	}
	c.service.places.byID.Store(spec.ID, held)
	c.held = spec.ID
	return held, nil
}

// folderIn returns the path below root of the folder that a call names: relative to
// the folder that the caller is held to, or absolute. It has no links.
func folderIn(root, outer, cwd string) (string, error) {
	abs := cwd
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(root, outer, cwd)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("cwd: %w", err)
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("cwd %q is outside of the workspace %s", cwd, root)
	}
	rel = filepath.ToSlash(rel)
	if outer != "" && rel != outer && !strings.HasPrefix(rel, outer+"/") {
		return "", fmt.Errorf("cwd %q is outside of the folder %s, which you are held to", cwd, outer)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", errors.Join(fmt.Errorf("cwd %q is no folder", cwd), err)
	}
	return rel, nil
}

// heldTo are the rules that deny all files of the workspace but those in dir. The
// folders on the way there may be looked into, for what in them leads there.
func heldTo(dir string) []permission.Rule {
	free := []string{"/**", ".", glob.Quote(dir), glob.Quote(dir) + "/**"}
	for above := path.Dir(dir); above != "."; above = path.Dir(above) {
		free = append(free, glob.Quote(above))
	}
	var rules []permission.Rule
	for _, tool := range []string{"read_file", "write_file", "edit_file"} {
		rules = append(rules, permission.Rule{
			Tool: tool, Pattern: "!(" + strings.Join(free, "|") + ")", Action: permission.Deny, Source: permission.Source{File: "cwd of the call"},
		})
	}
	return rules
}
