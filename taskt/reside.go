package taskt

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentworker/worker/session"
)

// reside has a file stand before the prompt of the child that is to be opened, if the
// call or its agent's file names one.
func (c *call) reside(spec *session.Spec) error {
	root := c.parent.Root()
	if spec.Paths != nil {
		root = spec.Paths.Root
	}
	var err error
	spec.ResidentFile, err = residentFile(root, cmp.Or(c.in.ResidentFile, c.def.ResidentFile))
	if err != nil && c.resumes != nil { // the conversation has what was in it
		return nil
	}
	c.asksFirst = spec.ResidentFile != ""
	return err
}

// residentFile returns the path below root of a file that is named: relative to root,
// or absolute. It has no links. What of it may be read is judged when it is.
func residentFile(root, named string) (string, error) {
	if named == "" {
		return "", nil
	}
	abs := named
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(root, named)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("residentFile: %w", err)
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("residentFile %q is outside of the workspace %s", named, root)
	}
	if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(fmt.Errorf("residentFile %q is no regular file", named), err)
	}
	return filepath.ToSlash(rel), nil
}
