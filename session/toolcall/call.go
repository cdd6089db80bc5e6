package toolcall

import (
	"fmt"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/hooks"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/journal"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/review"
	"github.com/agentworker/worker/tool"
)

// Result is the outcome of a tool call.
type Result struct {
	tool.Result
	Refused bool   // the gate did not let the call through: the tool has not run
	Rule    string // as in [event.ToolCallEnd]
}

// Call is one tool call on its way through the gate.
type Call struct {
	model.ToolCall
	MessageID string        // of the message that makes the call
	Prepared  tool.Prepared // nil means that it is prepared from the arguments
	CutAt     int64         // the output tokens at which the model's answer was cut; 0 means it was not, 1 that they are not known
	Answered  func()        // called once the outcome is published; nil means nobody waits for that

	calls      *Calls
	running    *sync.WaitGroup // counts the call until it has its outcome; nil means nothing does
	start      time.Time
	step       int              // of the session; 0 means not known
	tool       tool.Tool        // nil means that it is not looked up yet, or that there is none
	admitted   *tool.Call       // nil means that it was not admitted, or not yet
	described  tool.Description // what a person was last asked about
	given      bool             // Prepared is not made of the arguments
	hooks      hooks.Outcome    // of the hooks before the call
	hooksAsked bool             // they have judged it
	review     review.Verdict   // of a reviewer, if one was asked
	untold     bool             // it may have changed what its tool does not tell
	images     []model.Image    // the stored pictures of its result

	mu       sync.Mutex // guards what follows while the tool runs
	res      Result
	over     bool // res is the outcome
	returned bool // the outcome is published, and stays
}

// Result returns the outcome of a call that was made.
func (c *Call) Result() Result { return c.res }

// End makes res the outcome of the call, unless an outcome was published before.
func (c *Call) End(res Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.returned {
		c.res, c.over = res, true
	}
}

// Return implements [tool.Caller].
func (c *Call) Return(res tool.Result) {
	c.End(Result{Result: res})
	c.leave()
}

// leave publishes the outcome of a call once, and lets its caller proceed.
func (c *Call) leave() {
	c.mu.Lock()
	before := c.returned
	c.returned = true
	c.mu.Unlock()
	if before {
		return
	}
	c.calls.publishEnd(c)
	if c.Answered != nil {
		c.Answered()
	}
	if c.running != nil {
		c.running.Done()
	}
}

// follows reports whether the call is about what an allowed call of another tool has made.
func (c *Call) follows() bool {
	if c.tool == nil {
		return false
	}
	spec := c.tool.Spec()
	return spec.Follows != "" && !spec.Judged
}

// PublishStarts announces all calls of a message before any of them begins. If one is missing
// in a log, none was begun.
func (s *Calls) PublishStarts(all []*Call, step int) {
	calls := len(all)
	if calls == 1 {
		calls = 0 // as the event has it
	}
	for _, c := range all {
		c.step = step
		s.log.Publish(event.ToolCallStart{
			ToolCallID: c.ID, ToolName: c.Name, Arguments: c.Arguments, MessageID: c.MessageID, Step: step, Calls: calls,
		})
	}
}

// publishEnd publishes the outcome of a call, and notes it in the record.
func (s *Calls) publishEnd(c *Call) {
	s.keepPictures(c)
	ev := event.ToolCallEnd{
		ToolCallID: c.ID,
		ToolName:   c.Name,
		Result:     c.res.Text,
		IsError:    c.res.IsError,
		Truncated:  c.res.Truncated,
		Refused:    c.res.Refused,
		Rule:       c.res.Rule,
		DurationMs: time.Since(c.start).Milliseconds(),
		Untold:     c.untold,
		Images:     log.EventImages(c.images),
		Review:     c.review.String(),
	}
	if s.Task != nil {
		s.Task.Note(c.Name)
	}
	for _, change := range c.res.Changes {
		ev.Changes = append(ev.Changes, event.FileChange(change))
	}
	s.p.Counted()
	s.log.PublishNoted(ev, func(r *record.Record) { r.Work = r.Work.Add(ev) })
}

// keepPictures stores the pictures of an outcome.
func (s *Calls) keepPictures(c *Call) {
	if len(c.res.Pictures) == 0 {
		return
	}
	var err error
	if c.images, err = journal.Keep(s.log, c.res.Pictures); err != nil {
		c.res.Text += fmt.Sprintf("\n(the pictures of this result could not be stored: %s)", errtext.Of(err))
	}
	c.res.Pictures = nil // the store has them
}

// CutOff returns a call of a step that was cut off when its process died. If the call has no
// result, run does the rest of it. If run is nil, the call is made anew if its tool delegates or repeats.
// Otherwise repeat becomes its result.
func (s *Calls) CutOff(call model.ToolCall, messageID string, result model.ToolResult, run tool.Tool, repeat string) *Call {
	c := &Call{ToolCall: call, calls: s, MessageID: messageID, start: time.Now(), tool: s.Tools.Get(call.Name)}
	switch {
	case result.ToolCallID != "":
		c.images = result.Images
		c.res, c.returned = Result{Result: tool.Result{Text: result.Text, IsError: result.IsError}}, true
	case run != nil:
		c.tool = run
		c.admitted = s.toolCall(c)
		c.Prepared, _ = tool.Prepare(run, c.admitted.Args) // it reads nothing
	case c.tool == nil || !c.tool.Spec().Delegates && !c.tool.Spec().Repeats:
		c.End(Result{Result: tool.Errorf("%s", repeat)})
	}
	return c
}
