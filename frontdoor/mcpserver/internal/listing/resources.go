package listing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/session/transcript"
)

const (
	sessionScheme = "session://"

	// maxListed bounds the sessions that resources/list names, the newest of
	// them; others can be read all the same.
	maxListed = 200

	// maxTranscript bounds a transcript as a resource, in bytes.
	maxTranscript = 1 << 20
)

// Resources are the transcripts of a connection's own sessions: its roots, and all below.
// What other callers of the workspace do is not shown: their prompts may hold what this
// host must not know. For that reason, clients that share a connection are offered no list
// and no root: the root has the prompts of all. A client that has the id of a session has
// called it.
type Resources struct {
	Sessions *store.Store
	Owns     func(*record.Record) bool
	Roots    func() []string // the ids of the roots, the oldest first; nil offers no list
}

// Add offers the transcripts with a server.
func (c Resources) Add(server *mcp.Server) {
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		Name:        "session",
		Title:       "A session's transcript",
		Description: "What a subagent was told, did and answered, as Markdown. The session id is in the result of its call.",
		URITemplate: sessionScheme + "{id}",
		MIMEType:    "text/markdown",
	}, c.read)
	server.AddReceivingMiddleware(c.list)
}

// read returns a session's current transcript.
func (c Resources) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id := strings.TrimPrefix(req.Params.URI, sessionScheme)
	rec, err := c.Sessions.Index.Get(ctx, id)
	switch {
	case errors.Is(err, record.ErrNotFound), errors.Is(err, record.ErrAmbiguous), err == nil && (rec.ID != id || !c.Owns(rec)):
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	case err != nil:
		return nil, fmt.Errorf("reading session %s: %w", id, err)
	}
	messages, err := c.Sessions.Transcripts.Messages(ctx, rec.ID)
	if err != nil {
		return nil, err
	}
	text := shorten(termtext.Printable(transcript.Markdown(rec, messages)), rec.ID)
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
		URI: req.Params.URI, MIMEType: "text/markdown", Text: text,
		Meta: mcp.Meta{"status": rec.Status, "usage": rec.Usage},
	}}}, nil
}

// shorten leaves out the middle of a transcript that is too long.
func shorten(text, id string) string {
	limit := hosts.Size{Max: maxTranscript, In: hosts.UTF8Bytes}
	if limit.Fits(text) {
		return text
	}
	return hosts.HeadOf(text, maxTranscript/2, limit) +
		fmt.Sprintf("\n\n[… left out here; 'worker sessions log %s --format markdown' has all, in a terminal …]\n\n", id) +
		hosts.TailOf(text, maxTranscript/2, limit)
}

// list answers resources/list with the connection's sessions of the
// moment, the newest first.
func (c Resources) list(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*mcp.ListResourcesResult)
		if err != nil || !ok || c.Roots == nil {
			return res, err
		}
		for _, root := range slices.Backward(c.Roots()) {
			records, err := c.Sessions.Index.Tree(ctx, event.Path(nil).Child(root, ""))
			if err != nil {
				return nil, err
			}
			for _, r := range records {
				if len(list.Resources) == maxListed {
					return list, nil
				}
				if r.Nested && r.Status.Ended() {
					continue // it is part of its caller's
				}
				list.Resources = append(list.Resources, sessionResource(r))
			}
		}
		return list, nil
	}
}

func sessionResource(r *record.Record) *mcp.Resource {
	title := "this connection"
	if r.Agent != "" {
		title = termtext.OneLine(r.Agent+": "+r.Description, termtext.MaxTitle)
	}
	return &mcp.Resource{
		URI: sessionScheme + r.ID, Name: r.ID, Title: title, Description: string(r.Status), MIMEType: "text/markdown",
		Annotations: &mcp.Annotations{Audience: []mcp.Role{"user", "assistant"}, LastModified: lastChange(r)},
	}
}

// lastChange is when a session ended or, while it runs, began.
func lastChange(r *record.Record) string {
	at := r.CreatedAt
	if !r.EndedAt.IsZero() {
		at = r.EndedAt
	}
	return at.UTC().Format("2006-01-02T15:04:05Z")
}
