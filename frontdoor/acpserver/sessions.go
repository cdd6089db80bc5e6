package acpserver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt/conversation"
)

// checkFolder says why a session can't be where the client wants it. cwd may be a folder of the
// workspace: agents work in all of it.
func (c *connection) checkFolder(cwd string, further []string) error {
	switch {
	case len(further) > 0:
		return invalid(errors.New("additionalDirectories: a worker serves one workspace, " + c.opts.Root))
	case !filepath.IsAbs(cwd):
		return invalid(fmt.Errorf("cwd %q is not absolute", cwd))
	}
	real, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return invalid(fmt.Errorf("cwd: %s", errtext.Of(err)))
	}
	rel, err := filepath.Rel(c.opts.Root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return invalid(fmt.Errorf("cwd %q is outside of the workspace %s: start the worker there, or with --dir", cwd, c.opts.Root))
	}
	return nil
}

func (c *connection) newSession(_ context.Context, p acp.NewSessionRequest) (any, error) {
	if err := c.checkFolder(p.Cwd, p.AdditionalDirectories); err != nil {
		return nil, err
	}
	t, err := c.open(record.NewID("ses"), c.opts.Agent, nil, p.McpServers)
	if err != nil {
		return nil, err
	}
	return &acp.NewSessionResponse{SessionId: acp.SessionId(t.id), ConfigOptions: t.options(), Modes: t.modes()}, nil
}

// open begins a conversation, which takes the place of one with the same id.
func (c *connection) open(id, agent string, resumes *record.Record, named []acp.McpServer) (*talk, error) {
	servers, err := c.servers(named)
	if err != nil {
		return nil, err
	}
	def, err := conversation.Find(c.opts.Agents.Snapshot(), agent)
	if err != nil {
		return nil, err
	}
	t := &talk{client: c.client, id: id}
	t.Conversation = conversation.New(c.life, conversation.Options{
		Tasks: c.opts.Tasks, Agents: c.opts.Agents, Agent: def, AskedBy: record.Owner, ID: id, Resumes: resumes, Servers: servers,
		Opened: func(root *session.Session) {
			s := t.opened(root)
			c.owned.Go(func() { t.follow(s) })
		},
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	c.talks[id] = t
	return t, nil
}

// loadSession resumes a conversation whose sessions have ended, and shows all of it.
func (c *connection) loadSession(ctx context.Context, p acp.LoadSessionRequest) (any, error) {
	t, newest, err := c.resume(ctx, p.SessionId, p.Cwd, p.AdditionalDirectories, p.McpServers)
	if err != nil {
		return nil, err
	}
	if err := t.replay(ctx, newest); err != nil {
		return nil, err
	}
	return &acp.LoadSessionResponse{ConfigOptions: t.options(), Modes: t.modes()}, nil
}

// resumeSession is loadSession, and shows nothing.
func (c *connection) resumeSession(ctx context.Context, p acp.ResumeSessionRequest) (any, error) {
	t, _, err := c.resume(ctx, p.SessionId, p.Cwd, p.AdditionalDirectories, p.McpServers)
	if err != nil {
		return nil, err
	}
	return &acp.ResumeSessionResponse{ConfigOptions: t.options(), Modes: t.modes()}, nil
}

// resume opens a conversation that is stored, and returns the newest of its sessions, too. One
// that this client has open ends first.
func (c *connection) resume(ctx context.Context, id acp.SessionId, cwd string, further []string, servers []acp.McpServer) (*talk, *record.Record, error) {
	if err := c.checkFolder(cwd, further); err != nil {
		return nil, nil, err
	}
	if _, err := c.closeSession(ctx, acp.CloseSessionRequest{SessionId: id}); err != nil && !errors.Is(err, record.ErrNotFound) {
		return nil, nil, err
	}
	r, err := c.opts.Sessions.Index.Get(ctx, string(id))
	if errors.Is(err, record.ErrAmbiguous) || err == nil && r.ID != string(id) {
		err = &record.NotFoundError{What: "session", ID: string(id)}
	}
	if err == nil {
		r, err = c.opts.Sessions.Index.Newest(ctx, r)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case r.ParentID != "" || r.Agent == "":
		return nil, nil, invalid(fmt.Errorf("session %s is no conversation", r.ID))
	case !r.Status.Ended():
		return nil, nil, invalid(fmt.Errorf("session %s has not ended: another process runs it, which 'worker sessions stop %s' ends", r.ID, r.ID))
	}
	t, err := c.open(string(id), r.Agent, r, servers)
	return t, r, err
}

// closeSession ends a conversation, with its turn.
func (c *connection) closeSession(_ context.Context, p acp.CloseSessionRequest) (*acp.CloseSessionResponse, error) {
	t, err := c.talkOf(p.SessionId)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	delete(c.talks, t.id)
	c.mu.Unlock()
	t.stop()
	return &acp.CloseSessionResponse{}, t.End()
}

// listSessions lists the conversations of the workspace, a page at a time.
func (c *connection) listSessions(ctx context.Context, p acp.ListSessionsRequest) (any, error) {
	if p.Cwd != nil {
		if err := c.checkFolder(*p.Cwd, nil); err != nil {
			return nil, err
		}
	}
	opts := index.ListOptions{}
	if p.Cursor != nil {
		opts.Cursor = *p.Cursor
	}
	page, err := c.opts.Sessions.Index.Page(ctx, opts)
	if err != nil {
		return nil, err
	}
	list := &acp.ListSessionsResponse{Sessions: []acp.SessionInfo{}}
	if page.Next != "" {
		list.NextCursor = &page.Next
	}
	for _, r := range page.Sessions {
		if r.ParentID != "" || r.Agent == "" {
			continue
		}
		if next, err := c.opts.Sessions.Index.Resumed(ctx, r.ID); err != nil {
			return nil, err
		} else if next != nil { // that one is listed
			continue
		}
		list.Sessions = append(list.Sessions, acp.SessionInfo{
			SessionId: acp.SessionId(record.OriginalID(r.ID)), Cwd: c.opts.Root,
			Title:     acp.Ptr(termtext.OneLine(strings.TrimSpace(r.Description), termtext.MaxLabel)),
			UpdatedAt: acp.Ptr(latest(r).UTC().Format(time.RFC3339)),
		})
	}
	return list, nil
}

func latest(r *record.Record) time.Time {
	for _, at := range []time.Time{r.EndedAt, r.StartedAt} {
		if !at.IsZero() {
			return at
		}
	}
	return r.CreatedAt
}
