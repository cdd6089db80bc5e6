package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/internal/hostport"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox/internal/wire"
)

// refusedSocket returns why a command may not reach a socket or a named pipe that another program has
// made; nil means it may.
func (p *Profile) refusedSocket(path string) *Refusal {
	value := hostport.Socket + path
	d := p.layers.Decide([]permission.Value{{Tool: networkTool, Text: value}})
	named := d.Rule != nil && hostport.Names(d.Rule.Pattern, value)
	switch {
	case named && p.may(d.Action):
		return nil
	case named || d.Action == permission.Deny:
		return &Refusal{"connect", path, d.Reason()}
	}
	return &Refusal{"connect", path, "another program has made this socket or pipe, and no rule about network names " + value}
}

// sharedSockets returns the sockets that rules let commands reach by their path. They are
// shown to commands.
func sharedSockets(p *Profile) (out []Folder) {
	for _, layer := range p.Rules {
		for _, r := range layer.Rules {
			path, ok := strings.CutPrefix(r.Pattern, hostport.Socket)
			if ok && filepath.IsAbs(path) && filepath.Clean(path) == path && !strings.ContainsAny(path, `*?[]{}()!+@|\"$^`) &&
				about(r, networkTool) && p.refusedSocket(path) == nil {
				out = append(out, Folder{Path: path, Access: Read})
			}
		}
	}
	return out
}

// sendsDatagrams reports whether some rule lets commands reach a socket of another program, by its path or a pattern.
func sendsDatagrams(p *Profile) bool {
	return slices.ContainsFunc(p.Rules, func(layer Rules) bool {
		return !layer.Layer.Narrows() && slices.ContainsFunc(layer.Rules, func(r permission.Rule) bool {
			return strings.HasPrefix(r.Pattern, hostport.Socket) && p.may(r.Action) && about(r, networkTool)
		})
	})
}

// maxSockets bounds the sockets that are remembered of a session.
const maxSockets = 100_000

// sockets are the sockets and named pipes that a session's commands have made. The commands may reach them.
type sockets struct {
	mu    sync.Mutex
	bound map[wire.Socket]struct{}
}

func (s *sockets) add(socket wire.Socket) *Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bound) >= maxSockets {
		return &Refusal{"bind", "", "the session has bound too many sockets"}
	}
	if s.bound == nil {
		s.bound = make(map[wire.Socket]struct{})
	}
	s.bound[socket] = struct{}{}
	return nil
}

func (s *sockets) has(socket wire.Socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.bound[socket]
	return ok
}
