package mcphttp

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HandleKey is the key of a handle in the _meta of an answer to server/discover. A request
// with the same key goes to the session of its handle.
const HandleKey = "agentworker/handle"

// maxHandles bounds the handles that were given out: one more replaces the oldest.
const maxHandles = 10_000

// handles are the ones that were given out. A handle costs nothing until a request has it.
type handles struct {
	mu    sync.Mutex
	known map[string]bool
	order []string // the oldest first
}

// mint returns a new handle, of 130 random bits.
func (s *handles) mint() string {
	handle := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = make(map[string]bool)
	}
	if len(s.order) >= maxHandles {
		delete(s.known, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
	s.known[handle], s.order = true, append(s.order, handle)
	return handle
}

// check refuses a handle that was not given out here.
func (s *handles) check(of head) error {
	handle := of.Params.Meta.Handle
	s.mu.Lock()
	defer s.mu.Unlock()
	if handle == "" || s.known[handle] {
		return nil
	}
	return &httpError{
		status: http.StatusBadRequest, code: -32602, id: of.ID,
		message: fmt.Sprintf("the %s %.40q was not given out here, or long ago: server/discover gives another one", HandleKey, handle),
	}
}

// give adds a handle to the answer to server/discover.
func (s *handles) give(res mcp.Result) {
	if res, ok := res.(*mcp.DiscoverResult); ok {
		meta := res.GetMeta()
		if meta == nil {
			meta = make(map[string]any)
		}
		meta[HandleKey] = s.mint()
		res.SetMeta(meta)
	}
}
