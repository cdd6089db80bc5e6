package lsp

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"
)

// settle is the wait for more after a server has published diagnostics. Many send errors of syntax
// first, and those of types a moment later.
const settle = 200 * time.Millisecond

// lock waits for the turn to bring documents up to date.
func (c *client) lock(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *client) unlock() { <-c.turn }

// uri returns the URI of a file of the workspace.
func (c *client) uri(path string) string {
	return fileURI(filepath.Join(c.root, filepath.FromSlash(path)))
}

// set gives the server the text of a file. The caller holds the turn.
func (c *client) set(ctx context.Context, path, text string) error {
	select {
	case <-c.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := c.broken(); err != nil {
		return err
	}
	c.mu.Lock()
	doc, open := c.docs[path]
	c.mu.Unlock()
	if open && doc.text == text {
		return nil
	}
	c.mu.Lock()
	heard := c.published[path].count
	c.mu.Unlock()
	id, _ := c.server.languageOf(path)
	if !open {
		var p openParams
		p.TextDocument.URI, p.TextDocument.LanguageID, p.TextDocument.Version, p.TextDocument.Text = c.uri(path), id, 1, text
		if err := c.conn.Notify(ctx, "textDocument/didOpen", p); err != nil {
			return err
		}
		return c.opened(ctx, path, &document{version: 1, text: text, heard: heard})
	}
	next := &document{version: doc.version + 1, text: text, heard: heard}
	if err := c.conn.Notify(ctx, "textDocument/didChange", changeParams{textDocument{URI: c.uri(path), Version: next.version}, []wholeText{{text}}}); err != nil {
		return err
	}
	if err := c.opened(ctx, path, next); err != nil {
		return err
	}
	return c.conn.Notify(ctx, "textDocument/didSave", documentParams{TextDocument: textDocument{URI: c.uri(path)}})
}

// opened notes a document, and closes the one that was longest unused if there are many.
func (c *client) opened(ctx context.Context, path string, doc *document) error {
	c.mu.Lock()
	c.docs[path] = doc
	c.order = append(slices.DeleteFunc(c.order, func(p string) bool { return p == path }), path)
	oldest := ""
	if len(c.order) > maxOpen {
		oldest = c.order[0]
	}
	c.mu.Unlock()
	if oldest == "" {
		return nil
	}
	return c.closeDocument(ctx, oldest)
}

// closeDocument tells the server that nobody edits a file any more.
func (c *client) closeDocument(ctx context.Context, path string) error {
	c.mu.Lock()
	_, open := c.docs[path]
	delete(c.docs, path)
	delete(c.published, path)
	c.order = slices.DeleteFunc(c.order, func(p string) bool { return p == path })
	c.mu.Unlock()
	if !open {
		return nil
	}
	return c.conn.Notify(ctx, "textDocument/didClose", documentParams{TextDocument: textDocument{URI: c.uri(path)}})
}

// removed tells the server that a file was removed. The caller holds the turn.
func (c *client) removed(ctx context.Context, path string) error {
	if err := c.closeDocument(ctx, path); err != nil {
		return err
	}
	return c.conn.Notify(ctx, "workspace/didChangeWatchedFiles", watchedParams{[]fileEvent{{c.uri(path), 3}}})
}

// diagnose returns the diagnostics of the present text of a file. The caller holds the turn.
func (c *client) diagnose(ctx context.Context, path string) ([]diagnostic, error) {
	c.mu.Lock()
	doc := c.docs[path]
	known, found := doc != nil && doc.known, []diagnostic(nil)
	if known {
		found = doc.found
	}
	c.mu.Unlock()
	if known {
		return found, nil
	}
	var err error
	if can(c.can.Diagnostic) {
		found, err = c.pull(ctx, path)
	} else {
		found, err = c.await(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if doc := c.docs[path]; doc != nil {
		doc.known, doc.found = true, found
	}
	return found, nil
}

// pull asks for the diagnostics of a file.
func (c *client) pull(ctx context.Context, path string) ([]diagnostic, error) {
	var report diagnosticReport
	if err := c.call(ctx, "textDocument/diagnostic", documentParams{TextDocument: textDocument{URI: c.uri(path)}}, &report); err != nil {
		return nil, err
	}
	return bounded(report.Items), nil
}

// await waits until the server has published diagnostics of the present text of a file, and nothing
// for a moment.
func (c *client) await(ctx context.Context, path string) ([]diagnostic, error) {
	quiet := time.NewTimer(time.Hour)
	defer quiet.Stop()
	counted := -1
	for {
		c.mu.Lock()
		news, p, doc, err := c.news, c.published[path], c.docs[path], c.err
		c.mu.Unlock()
		if err != nil {
			return nil, c.broken()
		}
		if doc == nil {
			return nil, errors.New("the file is no longer open")
		}
		if current := p.version >= doc.version || p.version == 0 && p.count > doc.heard; current && p.count != counted {
			counted = p.count
			quiet.Reset(settle)
		}
		select {
		case <-news:
		case <-quiet.C:
			return p.found, nil
		case <-ctx.Done():
			if counted >= 0 {
				return p.found, nil
			}
			return nil, context.Cause(ctx)
		}
	}
}

// errorsElsewhere returns the errors that the server has published of files which are not edited.
func (c *client) errorsElsewhere(edits []edit) map[string][]diagnostic {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[string][]diagnostic{}
	for path, said := range c.published {
		if slices.ContainsFunc(edits, func(e edit) bool { return e.path == path }) {
			continue
		}
		for _, d := range said.found {
			if rank(d) == int(severityError) {
				found[path] = append(found[path], d)
			}
		}
	}
	return found
}
