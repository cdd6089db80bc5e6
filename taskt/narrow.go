package taskt

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/store"
)

// narrow holds the child that is to be opened to the tools and to the folders that the
// call names. Both hold for those below it, too.
func (c *call) narrow(spec *session.Spec) error {
	if c.in.AllowedTools != nil {
		if err := spec.ToolSet.CheckAllowed(c.in.AllowedTools); err != nil {
			return fmt.Errorf("allowedTools: %w", err)
		}
		spec.AllowedTools = c.in.AllowedTools
	}
	if c.in.WriteRoots == nil {
		return nil
	}
	root, dir := c.parent.Root(), ""
	if spec.Paths != nil {
		root = spec.Paths.Root
	}
	spec.ID = cmp.Or(spec.ID, store.NewID("ses"))
	if at, ok := c.service.places.byID.Load(spec.ID); ok {
		dir = at.(*Place).Dir
	} else if at := c.service.places.of(c.parent); at != nil {
		dir = at.Dir
	}
	free := []string{"/**"} // what is outside of the workspace
	var roots []string
	for _, named := range c.in.WriteRoots {
		rel, err := writeRoot(root, dir, named)
		if err != nil {
			return err
		}
		roots = append(roots, filepath.Join(root, rel))
		if rel == "." {
			free = append(free, "**")
		} else {
			free = append(free, glob.Quote(rel), glob.Quote(rel)+"/**")
		}
	}
	if err := c.service.claims.take(c, spec.ID, roots); err != nil {
		return err
	}
	var err error
	for _, tool := range []string{"write_file", "edit_file"} {
		if err = c.restrict(spec, permission.Rule{
			Tool: tool, Pattern: "!(" + strings.Join(free, "|") + ")", Action: permission.Deny, Source: permission.Source{File: "writeRoots of the call"},
		}); err != nil {
			return err
		}
	}
	return nil
}

// restrict adds rules to those of the child that is to be opened. They hold whatever
// agent it goes on as.
func (c *call) restrict(spec *session.Spec, rules ...permission.Rule) (err error) {
	c.restricted = append(c.restricted, rules...)
	spec.Rules, err = spec.Rules.Append(rules...)
	return err
}

// writeRoot returns the path below root of a folder that a call names, which need not
// be there. What of it is there has no links.
func writeRoot(root, dir, named string) (string, error) {
	if strings.TrimSpace(named) == "" {
		return "", errors.New("writeRoots: a folder is empty")
	}
	abs := named
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(root, dir, named)
	}
	real, missing := filepath.Clean(abs), ""
	for {
		found, err := filepath.EvalSymlinks(real)
		if err == nil {
			real = filepath.Join(found, missing)
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(real) == real {
			return "", fmt.Errorf("writeRoots: %w", err)
		}
		real, missing = filepath.Dir(real), filepath.Join(filepath.Base(real), missing)
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("writeRoots: %q is outside of the workspace %s", termtext.CutBytes(named, 200), root)
	}
	return filepath.ToSlash(rel), nil
}

// claims are the folders in which calls that run may write, of this process.
type claims struct {
	mu   sync.Mutex
	held map[*call]*claim
}

type claim struct {
	sessionID, agent string
	roots            []string // absolute
}

// take has a call claim folders. The error names who has one that overlaps. A session
// shares what those above it have.
func (k *claims) take(c *call, sessionID string, roots []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	above := make(map[string]bool)
	for _, id := range c.parent.Path().IDs() {
		above[id] = true
	}
	for _, other := range k.held {
		if above[other.sessionID] {
			continue
		}
		for _, theirs := range other.roots {
			for _, ours := range roots {
				if within(ours, theirs) || within(theirs, ours) {
					return fmt.Errorf("writeRoots: %s overlaps %s, in which session %s (%s) may write while it runs: "+
						"wait for that one or stop it, or name other folders", ours, theirs, other.sessionID, other.agent)
				}
			}
		}
	}
	if k.held == nil {
		k.held = make(map[*call]*claim)
	}
	k.held[c] = &claim{sessionID, c.agent, roots}
	return nil
}

func (k *claims) release(c *call) {
	if c.in.WriteRoots == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, c)
}

func within(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}
