package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/tool"
)

// writers are the tools whose results have diagnostics.
var writers = append(slices.Clone(toolcatalog.Writers), toolcatalog.ApplyPatch)

// Watch returns the tools. Results of a tool that changes files then end with diagnostics.
func (p *Place) Watch(tools []tool.Tool) []tool.Tool {
	watched := slices.Clone(tools)
	for i, t := range watched {
		if slices.Contains(writers, t.Spec().Name) {
			watched[i] = &watcher{t, p}
		}
	}
	return watched
}

// watcher is a tool that changes files, with diagnostics behind its results.
type watcher struct {
	tool.Tool
	place *Place
}

var (
	_ tool.Preparer = (*watcher)(nil)
	_ tool.Ender    = (*watcher)(nil)
)

// EndSession implements [tool.Ender].
func (w *watcher) EndSession(sessionID string) error { return w.place.servers.End(sessionID) }

// Prepare implements [tool.Preparer].
func (w *watcher) Prepare(args json.RawMessage) (tool.Prepared, error) {
	prepared, err := tool.Prepare(w.Tool, args)
	if err != nil {
		return nil, err
	}
	return &watchedCall{prepared, w.place}, nil
}

// Run implements [tool.Tool].
func (w *watcher) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	prepared, err := w.Prepare(call.Args)
	if err != nil {
		return tool.Result{}, err
	}
	return prepared.Run(ctx, call)
}

// watchedCall is a call of a watched tool.
type watchedCall struct {
	tool.Prepared
	place *Place
}

// Run implements [tool.Prepared].
func (c *watchedCall) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	before := c.place.texts(call)
	result, err := c.Prepared.Run(ctx, call)
	if err != nil || result.IsError {
		return result, err
	}
	if text := c.place.after(ctx, call, before, result.Changes); text != "" {
		result.Text += "\n\n" + text
	}
	return result, nil
}

// text returns the text of a file that a call was judged about; nil means there is none, or none that
// the session may read.
func (p *Place) text(call *tool.Call, name, path string) (text *string, readable bool) {
	if call.Readable != nil && !call.Readable(path) {
		return nil, false
	}
	_, content, err := p.ws.Content(call, name, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true
	}
	if err != nil || !utf8.Valid(content) {
		return nil, false
	}
	s := string(content)
	return &s, true
}

// texts returns the texts of the files that a call may change, as far as a server is for them.
func (p *Place) texts(call *tool.Call) map[string]*string {
	before := map[string]*string{}
	for _, v := range call.Values {
		if !slices.Contains(toolcatalog.Writers, v.Tool) || p.For(v.Text) == nil {
			continue
		}
		if text, ok := p.text(call, v.Tool, v.Text); ok {
			before[v.Text] = text
		}
	}
	return before
}

// after returns what servers say of the changes of a call.
func (p *Place) after(ctx context.Context, call *tool.Call, before map[string]*string, changes []tool.Change) string {
	edits := map[*Server][]edit{}
	var order []*Server
	for _, change := range changes {
		was, ok := before[change.Path]
		server := p.For(change.Path)
		if !ok || server == nil {
			continue
		}
		e := edit{path: change.Path, before: was}
		for _, name := range toolcatalog.Writers {
			if text, ok := p.text(call, name, change.Path); ok && change.After != "" {
				e.after = text
			}
		}
		if e.after == nil && change.After != "" {
			continue // it is there, and may not be read or is no text
		}
		if edits[server] == nil {
			order = append(order, server)
		}
		edits[server] = append(edits[server], e)
	}
	if len(order) == 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, editTime)
	defer cancel()
	var texts []string
	for _, server := range order {
		texts = append(texts, p.ask(ctx, call, server, edits[server])...)
	}
	return strings.Join(texts, "\n")
}

// ask returns what a server says of changes.
func (p *Place) ask(ctx context.Context, call *tool.Call, server *Server, edits []edit) (texts []string) {
	c, j, err := p.startFor(ctx, call, server, edits)
	var slow *slowStart
	switch {
	case errors.As(err, &slow):
		return []string{notYet(err)}
	case err != nil:
		return p.once(call.SessionID, server, err)
	}
	texts = p.failures(call.SessionID, server)
	late := c.lateReports()
	wait := true
	if j == nil {
		j, wait = c.check(edits, true)
	}
	for i := range late {
		late[i].server += ", late, of an earlier change"
		texts = append(texts, late[i].text(call.Readable))
	}
	if !wait {
		return texts
	}
	began := time.Now()
	select {
	case r := <-j.done:
		if r.err != nil {
			return append(texts, p.once(call.SessionID, server, fmt.Errorf("no diagnostics: %s: %w", server.Name, r.err))...)
		}
		return append(texts, r.text(call.Readable))
	case <-ctx.Done():
		c.leave(j)
		return append(texts, notYet(errSlow(server.Name, max(time.Second, time.Since(began).Round(time.Second)))))
	}
}

// notYet says why an edit waits for a server no longer.
func notYet(why error) string {
	return fmt.Sprintf("(No diagnostics yet: %v. They come behind a later change, or by the tool %s.)", why, toolcatalog.Diagnostics)
}

// slowStart is the error of an edit that is looked at once the server runs.
type slowStart struct{ error }

// startFor returns the client of a server, and the check of the edits if the server was started for them.
// The first edit waits for the start. The next ones get a [slowStart] at once.
func (p *Place) startFor(ctx context.Context, call *tool.Call, server *Server, edits []edit) (*client, *job, error) {
	if call.Rules == nil {
		return nil, nil, errNoRules
	}
	at, err := p.connection(call.SessionID, server)
	if err != nil {
		return nil, nil, err
	}
	c, s, err := at.use(call.Rules)
	if s == nil {
		return c, nil, err
	}
	first, err := at.enqueue(s, edits)
	switch {
	case err != nil:
		return nil, nil, err
	case !first:
		return nil, nil, &slowStart{fmt.Errorf("%s is starting", server.Name)}
	}
	select {
	case <-s.done:
		return s.client, s.first, s.err
	case <-ctx.Done():
		at.leave(s)
		return nil, nil, &slowStart{errSlow(server.Name, editTime)}
	}
}

// failures returns how the server has failed before, unless the session has read that.
func (p *Place) failures(sessionID string, server *Server) (texts []string) {
	c, err := p.connection(sessionID, server)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != "" && c.failed != c.told {
		texts, c.told = []string{c.failed}, c.failed
	}
	c.failed = ""
	return texts
}

// once returns an error as a text, unless the session has read that text before.
func (p *Place) once(sessionID string, server *Server, err error) []string {
	c, wrong := p.connection(sessionID, server)
	if wrong != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	text := "(" + clean(err.Error()) + ")"
	if c.told == text {
		return nil
	}
	c.told = text
	return []string{text}
}
