package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/internal/allowance"
)

// Sandboxed is a [Tool] that starts programs. They run in a sandbox that is made
// from the rules of the session.
type Sandboxed interface {
	Tool

	// Held reports whether the sandbox keeps a call of the session from all
	// files that the rules do not allow, and if not, why.
	Held(sessionID string, rules *permission.Layers) (held bool, why string)

	// EndSession ends what the session's calls have left, and returns when
	// nothing of it runs any more.
	EndSession(sessionID string) error
}

// SandboxOptions configure the sandbox of programs, whatever the rules are.
type SandboxOptions struct {
	Mode sandbox.Mode // "": [sandbox.Auto]

	// Dir is the folder for what sandboxes keep while they run. "": the
	// system's folder for temporary files.
	Dir string

	// Folders are shown beside the workspace, besides those of
	// [sandbox.DefaultFolders] and PATH.
	Folders []sandbox.Folder

	Protected []string // never writable: folders of agent files. Absolute, or relative to the workspace
	Hidden    []string // never there: state, settings and keys

	Support *sandbox.Support // nil means what the system offers
}

// checkSandbox reports a sandbox that is required, and that this system has not.
func checkSandbox(o *SandboxOptions) error {
	if o.Mode != sandbox.Required {
		return nil
	}
	s := o.Support
	if s == nil {
		found := sandbox.Detect()
		s = &found
	}
	if b, why := s.Backend(); b == "" {
		return fmt.Errorf("a sandbox is required (--sandbox=required), and there is none: %s", why)
	}
	return nil
}

// box is the sandbox of one session.
type box struct {
	*sandbox.Session

	mu    sync.Mutex
	calls []*boxCall // that run now
}

// boxCall is a call whose programs run in a box.
type boxCall struct {
	judge   func(ctx context.Context, value permission.Value) error
	waits   *allowance.Allowance
	asking  sync.Mutex      // one question at a time; guards the two below
	allowed map[string]bool // hosts that this call may reach
	refused []sandbox.Refusal
}

// maxRefusedHosts bounds the hosts that a result names.
const maxRefusedHosts = 5

// refuse notes a host that the call may not reach.
func (c *boxCall) refuse(hostport, reason string) {
	r := sandbox.Refusal{Op: "reach", Path: hostport, Reason: reason}
	if len(c.refused) < maxRefusedHosts && !slices.Contains(c.refused, r) {
		c.refused = append(c.refused, r)
	}
}

// refusals returns the hosts that the call was refused.
func (c *boxCall) refusals() []sandbox.Refusal {
	c.asking.Lock()
	defer c.asking.Unlock()
	return c.refused
}

// NetworkTool is the tool whose rules are about hosts: the values are host:port.
const NetworkTool = "network"

// InternalHost reports whether the host:port of a value of [NetworkTool] is on
// this machine or in its network, which a rule for every host does not mean.
func InternalHost(hostport string) bool { return sandbox.Internal(hostport) }

// reach asks the gate about a connection to hostport, on behalf of the latest
// call that runs.
func (b *box) reach(ctx context.Context, hostport string) error {
	b.mu.Lock()
	if len(b.calls) == 0 {
		b.mu.Unlock()
		return errors.New("no call runs that could ask for it")
	}
	call := b.calls[len(b.calls)-1]
	b.mu.Unlock()
	call.asking.Lock()
	defer call.asking.Unlock()
	if call.allowed[hostport] {
		return nil
	}
	if call.judge == nil {
		return errors.New("nobody judges connections of this call")
	}
	resume := call.waits.Hold()
	defer resume()
	if err := call.judge(ctx, permission.Value{Tool: NetworkTool, Text: hostport}); err != nil {
		call.refuse(hostport, err.Error())
		return err
	}
	call.allowed[hostport] = true
	return nil
}

// enter notes a call that runs in the box; leave that it has ended.
func (b *box) enter(c *boxCall) (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, c)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.calls = slices.DeleteFunc(b.calls, func(o *boxCall) bool { return o == c })
	}
}

// boxes are the sandboxes of a workspace's sessions.
type boxes struct {
	mu     sync.Mutex
	open   map[string]*box
	closed bool
}

// box returns the sandbox of a session, which it makes for the first call.
func (ws *Workspace) box(sessionID string) (*box, error) {
	ws.boxes.mu.Lock()
	defer ws.boxes.mu.Unlock()
	if ws.boxes.closed {
		return nil, errors.New("the workspace is closed")
	}
	if b := ws.boxes.open[sessionID]; b != nil {
		return b, nil
	}
	o := &ws.opts.Sandbox
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("the sandbox's folder: %w", err)
		}
	}
	b := &box{}
	s, err := sandbox.Open(sandbox.Options{Dir: o.Dir, Mode: o.Mode, Network: b.reach, Support: o.Support})
	if err != nil {
		return nil, err
	}
	b.Session = s
	if ws.boxes.open == nil {
		ws.boxes.open = make(map[string]*box)
	}
	ws.boxes.open[sessionID] = b
	return b, nil
}

// closeBox ends the sandbox of a session.
func (ws *Workspace) closeBox(sessionID string) error {
	ws.boxes.mu.Lock()
	b := ws.boxes.open[sessionID]
	delete(ws.boxes.open, sessionID)
	ws.boxes.mu.Unlock()
	if b == nil {
		return nil
	}
	return b.Close()
}

// closeBoxes ends all sandboxes. None is made after that.
func (ws *Workspace) closeBoxes() error {
	ws.boxes.mu.Lock()
	open := ws.boxes.open
	ws.boxes.open, ws.boxes.closed = nil, true
	ws.boxes.mu.Unlock()
	var errs []error
	for _, b := range open {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// SandboxProfile returns what programs of a session with these rules may touch.
// approved says that a person has approved the call.
func (ws *Workspace) SandboxProfile(rules *permission.Layers, approved bool) *sandbox.Profile {
	o := &ws.opts.Sandbox
	gitDirs, own := sandbox.GitDirs(ws.files.Dir()), []string(nil)
	if ws.git != nil { // what its .git file says is not asked: a command may have tried to change it
		gitDirs, own = []string{ws.git.dir}, ws.git.own
	}
	return sandbox.NewProfile(sandbox.Input{
		Layers:    rules,
		Workspace: permission.Workspace{Root: ws.files.Dir(), Home: ws.home, As: ws.rules.As},
		Folders:   slices.Concat(sandbox.DefaultFolders(ws.home), ws.pathFolders(), o.Folders),
		GitDirs:   gitDirs,
		GitOwn:    own,
		Protected: o.Protected,
		Hidden:    o.Hidden,
		Approved:  approved,
	})
}

// SandboxPlan says what becomes of a profile in this workspace, now.
func (ws *Workspace) SandboxPlan(profile *sandbox.Profile) (*sandbox.Plan, error) {
	s, err := sandbox.Open(sandbox.Options{Dir: ws.opts.Sandbox.Dir, Mode: ws.opts.Sandbox.Mode, Support: ws.opts.Sandbox.Support})
	if err != nil {
		return nil, err
	}
	plan, err := s.Plan(profile)
	return plan, errors.Join(err, s.Close())
}

// pathFolders are the folders of PATH in which programs lie outside of the
// system's. Those of the home folder are for the settings to name: they may hold
// more than programs.
func (ws *Workspace) pathFolders() []sandbox.Folder {
	var out []sandbox.Folder
	for _, e := range ws.env {
		list, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			dir, err := filepath.EvalSymlinks(dir)
			if err == nil && filepath.IsAbs(dir) && !within(ws.home, dir) && !within(ws.files.Dir(), dir) && !within("/tmp", dir) && dir != "/" {
				out = append(out, sandbox.Folder{Path: dir, Access: sandbox.Read})
			}
		}
	}
	return out
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return dir != "" && err == nil && filepath.IsLocal(rel)
}
