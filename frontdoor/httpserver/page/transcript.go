package page

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/report"
)

// Transcript is what a session was told, did and said.
type Transcript struct {
	Session *record.Record `json:"session"`
	Blocks  []Block        `json:"blocks"`
	Omitted int            `json:"omitted,omitempty"` // messages before these, which are not shown
	After   string         `json:"after,omitempty"`   // the blocks follow that of this key; empty means they are all
	Final   *Final         `json:"final,omitempty"`   // nil means it has not ended, or is a caller's
}

// Block is a part of a transcript. Its key stays the same while it grows.
type Block struct {
	Key       string  `json:"key"`
	Kind      string  `json:"kind"` // user, assistant or tool
	At        int64   `json:"at,omitempty"`
	HTML      string  `json:"html,omitempty"`
	Reasoning string  `json:"reasoning,omitempty"`
	Call      *Call   `json:"call,omitempty"`
	Images    []Image `json:"images,omitempty"`
	Open      bool    `json:"open,omitempty"` // it is not complete
}

// Call is a tool call, with its outcome.
type Call struct {
	Tool      string     `json:"tool"`
	About     string     `json:"about"` // the tool and what the call is about, in one line
	Arguments []Argument `json:"arguments"`
	Diff      []DiffLine `json:"diff,omitempty"`
	Result    []Piece    `json:"result,omitempty"`
	Cut       bool       `json:"cut,omitempty"` // there is more of the result
	Error     bool       `json:"error,omitempty"`
	Images    []Image    `json:"images,omitempty"`
}

// Final compares a session's claims with its work.
type Final struct {
	Claims []Claim     `json:"claims"`
	Notes  []string    `json:"notes"` // what does not hold of them
	Work   record.Work `json:"work"`
}

// Claim is a section of an answer.
type Claim struct {
	Title string `json:"title"`
	HTML  string `json:"html"`
}

// Bounds of what is shown of a transcript.
const (
	maxMessages = 500
	maxResult   = 20_000 // characters of a result
	maxClaim    = 2000   // bytes of an answer that is no report
)

// transcripts serves transcripts.
type transcripts struct {
	answers
	sessions *store.Store
	html     *htmlCache
}

// serve answers with a transcript. after=KEY asks for the blocks after that one. It is for a
// browser that has all blocks up to it, complete.
func (ts *transcripts) serve(w http.ResponseWriter, r *http.Request) {
	transcript, err := ts.read(r.Context(), r.PathValue("id"), r.URL.Query().Get("after"))
	ts.answer(w, transcript, err)
}

func (ts *transcripts) read(ctx context.Context, id, after string) (*Transcript, error) {
	rec, err := recordOf(ctx, ts.sessions, id)
	if err != nil {
		return nil, err
	}
	t := &Transcript{Session: rec, Blocks: []Block{}}
	messages, state := []*log.Message(nil), &log.State{}
	if rec.Status.Ended() {
		messages, err = ts.sessions.Transcripts.Messages(ctx, rec.ID)
	} else if state, err = ts.sessions.Index.State(ctx, rec.Path); err == nil {
		state.Mask()
		messages, err = ts.before(ctx, rec)
		messages = append(messages, state.Messages...)
	}
	if err != nil {
		return nil, err
	}
	if t.Omitted = max(0, len(messages)-maxMessages); t.Omitted > 0 {
		messages = messages[t.Omitted:]
	}
	seen := 0
	if after != "" {
		seen = max(0, slices.IndexFunc(messages, func(m *log.Message) bool { return holds(m, after) }))
	}
	for _, m := range messages[seen:] {
		ts.add(t, m)
	}
	answer := ""
	for _, m := range slices.Backward(messages) {
		if m.Role == model.Assistant {
			answer = m.Text
			break
		}
	}
	t.open(state, answer)
	if i := slices.IndexFunc(t.Blocks, func(b Block) bool { return b.Key == after }); i >= 0 {
		t.Blocks, t.After = t.Blocks[i+1:], after
	}
	if rec.Status.Ended() && rec.Agent != "" {
		t.Final = ts.final(rec, answer)
	}
	return t, nil
}

// before returns the messages of the runs before that of a record, as far as they are still
// stored.
func (ts *transcripts) before(ctx context.Context, rec *record.Record) ([]*log.Message, error) {
	if rec.Resumes == "" {
		return nil, nil
	}
	messages, err := ts.sessions.Transcripts.Messages(ctx, rec.Resumes)
	if rec.FromStep != 0 && err == nil {
		messages, err = ts.sessions.Transcripts.ConversationTo(ctx, rec.Resumes, rec.FromStep)
		messages = log.Mask(messages)
	}
	if errors.Is(err, record.ErrNotFound) {
		return nil, nil
	}
	return messages, err
}

// holds reports whether a message has the block of a key.
func holds(m *log.Message, key string) bool {
	return m.ID == key || slices.ContainsFunc(m.ToolCalls, func(c model.ToolCall) bool { return c.ID == key })
}

// open adds what is not complete: the text so far, and the calls without an outcome.
// answer is what the model has said last.
func (t *Transcript) open(state *log.State, answer string) {
	if state.Partial != "" && state.Partial != answer {
		t.Blocks = append(t.Blocks, Block{Key: "partial", Kind: "assistant", HTML: markdown(state.Partial), Open: true})
	}
	for _, c := range state.Open {
		if !slices.ContainsFunc(t.Blocks, func(b Block) bool { return b.Key == c.ID }) {
			t.Blocks = append(t.Blocks, Block{Key: c.ID, Kind: "tool", Call: newCall(c), Open: true})
		}
	}
}

// add adds a message: its text, and each of its calls. Results go to their calls.
func (ts *transcripts) add(t *Transcript, m *log.Message) {
	results := make(map[string]model.ToolResult)
	for _, r := range m.ToolResults {
		results[r.ToolCallID] = r
	}
	for i := range t.Blocks {
		b := &t.Blocks[i]
		r, ok := results[b.Key]
		if b.Call == nil || !ok {
			continue
		}
		var complete bool
		b.Call.Result, complete = visible(r.Text, maxResult)
		b.Call.Cut, b.Call.Error, b.Open = !complete, r.IsError, false
		b.Call.Images = shownImages(r.Images)
	}
	block := Block{Key: m.ID, Kind: string(m.Role), At: millis(m.CreatedAt), HTML: ts.html.markdown(m.Text), Images: shownImages(m.Images)}
	for _, r := range m.Reasoning {
		block.Reasoning += r.Text
	}
	block.Reasoning = termtext.Printable(termtext.CutBytes(block.Reasoning, maxResult))
	if block.HTML != "" || block.Reasoning != "" || len(block.Images) > 0 {
		t.Blocks = append(t.Blocks, block)
	}
	for _, c := range m.ToolCalls {
		t.Blocks = append(t.Blocks, Block{Key: c.ID, Kind: "tool", At: block.At, Call: newCall(c), Open: true})
	}
}

func newCall(c model.ToolCall) *Call {
	args, _ := arguments(c.Arguments)
	about := event.ToolCallStart{ToolName: c.Name, Arguments: c.Arguments}.Summary()
	return &Call{Tool: termtext.OneLine(c.Name, termtext.MaxTitle), About: about, Arguments: args, Diff: editOf(c.Name, c.Arguments)}
}

// final makes the card of a session that has ended.
func (ts *transcripts) final(rec *record.Record, answer string) *Final {
	f := &Final{Claims: []Claim{}, Work: rec.Work}
	var r *report.Report
	if len(answer) <= maxMarkdown {
		r = report.Parse(answer)
	}
	f.Notes = append([]string{}, report.Notes(r, &rec.Work)...)
	if r == nil {
		if answer != "" {
			f.Claims = append(f.Claims, Claim{"Answer", ts.html.markdown(termtext.CutBytes(answer, maxClaim))})
		}
		return f
	}
	for _, section := range []Claim{{"Summary", r.Summary}, {"Changes", r.Changes}, {"Evidence", r.Evidence}, {"Risks", r.Risks}, {"Blockers", r.Blockers}} {
		if section.HTML != "" {
			f.Claims = append(f.Claims, Claim{section.Title, ts.html.markdown(section.HTML)})
		}
	}
	return f
}

// recordOf returns the record of a session, by its complete id.
func recordOf(ctx context.Context, sessions *store.Store, id string) (*record.Record, error) {
	rec, err := sessions.Index.Get(ctx, id)
	if errors.Is(err, record.ErrAmbiguous) || err == nil && rec.ID != id {
		return nil, &record.NotFoundError{What: "session", ID: id}
	}
	return rec, err
}
