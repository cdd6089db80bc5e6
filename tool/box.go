package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/internal/allowance"
)

// NetworkTool is the tool whose rules are about hosts: the values are host:port.
const NetworkTool = "network"

// box is the sandbox of one session.
type box struct {
	*sandbox.Session

	mu    sync.Mutex
	calls []*boxCall // that run now
}

// boxCall is a call whose programs run in a box.
type boxCall struct {
	judge   func(ctx context.Context, value permission.Value) error
	waits   *allowance.Allowance // nil means the call has no time limit
	asking  sync.Mutex           // one question at a time; guards the two below
	allowed map[string]bool      // hosts that this call may reach
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

// reach asks the gate about a connection to hostport, on behalf of the latest
// call that runs: see [sandbox.NetworkFunc]. An address that an allowed name has led
// to is refused only by a rule about addresses.
func (b *box) reach(ctx context.Context, hostport, name string) error {
	b.mu.Lock()
	if len(b.calls) == 0 {
		b.mu.Unlock()
		return errors.New("no call runs that could ask for it")
	}
	call := b.calls[len(b.calls)-1]
	b.mu.Unlock()
	call.asking.Lock()
	defer call.asking.Unlock()
	asked, value := name+" "+hostport, permission.Value{Tool: NetworkTool, Text: hostport}
	if name != "" {
		value.Kind = permission.Spelling
	}
	if call.allowed[asked] {
		return nil
	}
	if call.judge == nil {
		return errors.New("nobody judges connections of this call")
	}
	if call.waits != nil {
		defer call.waits.Hold()()
	}
	if err := call.judge(ctx, value); err != nil {
		call.refuse(hostport, err.Error())
		return err
	}
	call.allowed[asked] = true
	return nil
}

// enter notes a call that runs in the box; leave that it has ended.
func (b *box) enter(c *boxCall) (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.waits == nil { // a command in the background: who makes a call may be asked, and goes first
		b.calls = slices.Insert(b.calls, 0, c)
	} else {
		b.calls = append(b.calls, c)
	}
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

// of returns the sandbox of a session, and makes it for the first call.
func (s *boxes) of(sessionID string, o *SandboxOptions) (*box, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the workspace is closed")
	}
	if b := s.open[sessionID]; b != nil {
		return b, nil
	}
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("the sandbox's folder: %w", err)
		}
	}
	b := &box{}
	session, err := sandbox.Open(sandbox.Options{Dir: o.Dir, Mode: o.Mode, Network: b.reach, Support: o.Support})
	if err != nil {
		return nil, err
	}
	b.Session = session
	if s.open == nil {
		s.open = make(map[string]*box)
	}
	s.open[sessionID] = b
	return b, nil
}

// end ends the sandbox of a session.
func (s *boxes) end(sessionID string) error {
	s.mu.Lock()
	b := s.open[sessionID]
	delete(s.open, sessionID)
	s.mu.Unlock()
	if b == nil {
		return nil
	}
	return b.Close()
}

// close ends all sandboxes. None is made after that.
func (s *boxes) close() error {
	s.mu.Lock()
	open := s.open
	s.open, s.closed = nil, true
	s.mu.Unlock()
	var errs []error
	for _, b := range open {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}
