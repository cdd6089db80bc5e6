package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/transcript"
)

// ErrRunning is the error of [Control.Result] for a session that has not ended.
var ErrRunning = errors.New("it has not ended yet")

// Result returns the result of a subagent that has ended, in whatever process,
// from the store: the whole answer, or why it failed. A session that the caller
// does not reach, and part of an id, are [record.ErrNotFound]; one that still
// runs is [ErrRunning].
func (c *Control) Result(ctx context.Context, scope *Scope, sessionID string) (*Result, error) {
	r, err := c.get(ctx, scope, sessionID)
	if err == nil && r.ParentID == "" {
		err = &record.NotFoundError{What: "session", ID: sessionID}
	}
	if err != nil {
		return nil, err
	}
	return c.ResultOf(ctx, r)
}

// NoteRead notes that the caller of a session has its whole result: see
// [store.Store.Retention.CleanUp].
func (c *Control) NoteRead(ctx context.Context, r *record.Record) error {
	return c.store.Retention.NoteRead(ctx, r)
}

// ResultOf is [Control.Result] for a record: of that very session, resumed or not.
func (c *Control) ResultOf(ctx context.Context, r *record.Record) (*Result, error) {
	if !r.Status.Ended() {
		return nil, fmt.Errorf("session %s is %s: %w", r.ID, r.Status, ErrRunning)
	}
	result := &Result{
		Agent:     r.Agent,
		SessionID: r.ID,
		Status:    r.Status,
		Record:    *r,
		Duration:  r.Duration(time.Now()),
	}
	if r.Status != record.Completed {
		state, err := c.store.Index.State(ctx, r.Path)
		if err != nil {
			return nil, err
		}
		result.Partial = state.Partial
		result.Fail(ctx, errors.New(cmp.Or(r.Error, "the session is "+string(r.Status))))
		return result, nil
	}
	var err error
	result.Text, err = c.store.Transcripts.LastAnswer(ctx, r)
	return result, err
}

// defaultPage is how many characters task_result returns where its caller does
// not say.
const defaultPage = 20_000

// readInput is what task_result takes.
type readInput struct {
	SessionID  string `json:"sessionId"`
	Offset     int    `json:"offset"`
	Limit      int    `json:"limit"`
	Transcript bool   `json:"transcript"`
}

func (in *readInput) Sessions() []string { return []string{in.SessionID} }

func (in *readInput) Check() error {
	switch {
	case in.SessionID == "":
		return errors.New("sessionId is missing")
	case in.Offset < 0:
		return fmt.Errorf("offset %d is below 0", in.Offset)
	case in.Limit < 0 || in.Limit > MaxPage:
		return fmt.Errorf("limit %d is not within 1 and %d", in.Limit, MaxPage)
	}
	return nil
}

// MaxPage is the most that task_result returns at once, in characters.
const MaxPage = 1_000_000

// Page is a part of a text: of a subagent's answer, of why it failed, or of its
// transcript. Offsets count characters (Unicode code points).
type Page struct {
	SessionID  string        `json:"sessionId"`
	Agent      string        `json:"agent"`
	Status     record.Status `json:"status"`
	Transcript bool          `json:"transcript,omitempty"`
	Text       string        `json:"text"`
	Offset     int           `json:"offset"`               // of Text in the whole
	Total      int           `json:"total"`                // characters of the whole
	NextOffset int           `json:"nextOffset,omitempty"` // where the text goes on; 0 means this is its end

	Work  record.Work `json:"work,omitzero"` // as [Document] has them; not beside a transcript
	Notes []string    `json:"notes,omitempty"`

	noted string // as models read them
}

func (in *readInput) do(ctx context.Context, c *Control, scope *Scope) (Answer, error) {
	r, err := c.get(ctx, scope, in.SessionID)
	if err != nil {
		return nil, err
	}
	if !in.Transcript {
		result, err := c.Result(ctx, scope, r.ID)
		if err != nil {
			return nil, err
		}
		page, err := result.Page(in.Offset, in.Limit)
		if err == nil && page.NextOffset == 0 {
			err = c.store.Retention.NoteRead(ctx, &result.Record)
		}
		return page, err
	}
	messages, err := c.store.Transcripts.Messages(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	page := &Page{SessionID: r.ID, Agent: r.Agent, Status: r.Status, Transcript: true, Offset: in.Offset}
	return page, page.cut(transcript.Markdown(r, messages), in.Limit)
}

// Page returns the part of the text that begins after offset characters and has
// limit characters at most; 0 means 20,000. An offset beyond the text is an
// [*InputError].
func (r *Result) Page(offset, limit int) (*Page, error) {
	page := &Page{SessionID: r.SessionID, Agent: r.Agent, Status: r.Status, Offset: offset, Work: r.Record.Work, noted: r.noted()}
	_, page.Notes = r.Assess()
	return page, page.cut(r.Text, limit)
}

// cut sets the text of the page: limit characters of text, from the page's offset on.
func (p *Page) cut(text string, limit int) error {
	p.Total = utf8.RuneCountInString(text)
	if p.Offset > 0 && p.Offset >= p.Total {
		return &InputError{Operation: "task_result", Err: fmt.Errorf("the text of session %s has %d characters: offset %d is not within 0 and %d", p.SessionID, p.Total, p.Offset, max(0, p.Total-1))}
	}
	if limit == 0 {
		limit = defaultPage
	}
	p.Text = characters(text, p.Offset, limit)
	if end := p.Offset + limit; end < p.Total {
		p.NextOffset = end
	}
	return nil
}

// With returns the page with a shorter text: the beginning of it.
func (p *Page) With(text string) *Page {
	short := *p
	short.Text = text
	if end := p.Offset + utf8.RuneCountInString(text); end < p.Total {
		short.NextOffset = end
	}
	return &short
}

// characters returns n characters of s, from the offset first on.
func characters(s string, first, n int) string {
	start, count := len(s), 0
	for i := range s {
		if count == first {
			start = i
		}
		if count == first+n {
			return s[start:i]
		}
		count++
	}
	return s[start:]
}

// Answer implements [Answer].
func (p *Page) Answer() string {
	element, end := "task_result", "this is the end"
	switch {
	case p.Transcript:
		element = "task_transcript"
	case p.Status != record.Completed:
		element = "task_error"
	}
	if p.Offset == 0 && p.NextOffset == 0 {
		return XML(element, p.Agent, p.Text) + p.noted
	}
	last := p.Total
	if p.NextOffset > 0 {
		last, end = p.NextOffset, fmt.Sprintf("task_result with offset %d reads on", p.NextOffset)
	}
	return fmt.Sprintf("Characters %d to %d of %d; %s.\n%s", p.Offset, last, p.Total, end, XML(element+"_part", p.Agent, p.Text)+p.noted)
}
