package endpoint

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/agentworker/worker/model"
)

// A stream of events that comes steadily is read at most once in a window, and what a read brings of
// a text is one part. That costs a fraction of a wake-up, a part, and a stored event for each. The
// first reads of a burst are not held up.
const (
	minWindow = 33 * time.Millisecond  // two frames of a screen
	maxWindow = 150 * time.Millisecond // with many streams: nobody watches them all
	few       = 10                     // streams, up to which the window is the shortest
	many      = 100                    // streams, from which on it is the longest
	quick     = 4                      // reads of a burst that are not held up
	together  = 16                     // streams that are read together, at least
	apart     = 5 * time.Millisecond   // the shortest time between two groups
	muchRead  = 2 << 10                // bytes behind which more is taken to be there already
)

// streams counts the open streams of the process, and all so far.
var streams, opened atomic.Int64

// window returns how long a read is held up.
func window() time.Duration {
	over := min(max(streams.Load()-few, 0), many-few)
	return minWindow + (maxWindow-minWindow)*time.Duration(over)/(many-few)
}

// untilTick returns the time until the next tick of a stream after a read, by the stream's number. Some
// streams have the same ticks: what is read together is stored together. Many have not, since a
// new answer would wait for all of them.
func untilTick(number int64, last time.Time) time.Duration {
	w := window()
	groups := min(max(streams.Load()/together, 1), int64(w/apart))
	phase := w * time.Duration(number%groups) / time.Duration(groups)
	return w - time.Duration(last.UnixNano()-phase.Nanoseconds())%w - time.Since(last)
}

// errLeft ends the reading of an answer whose caller has left.
var errLeft = errors.New("the caller has left")

// Flow hands the parts of an answer to whoever ranges over it, joined by reads.
type Flow struct {
	Each bool // part by itself

	yield   func(model.Part, error) bool
	text    string // that waits, of the model's answer or, with thought, of its thinking
	thought bool
	calls   bool // pieces of a tool call wait
	left    bool
}

// NewFlow returns one for a yield function. The caller ends it with [Flow.Flush].
func NewFlow(yield func(model.Part, error) bool) *Flow { return &Flow{yield: yield} }

// Add takes parts, and reports whether more are wanted.
func (f *Flow) Add(parts ...model.Part) bool {
	for _, part := range parts {
		switch part := part.(type) {
		case model.TextDelta:
			f.join(part.Text, false)
		case model.ReasoningDelta:
			f.join(part.Text, true)
		case model.ToolCallDelta:
			f.calls = true
		default:
			if f.Flush() && !f.yield(part, nil) {
				f.left = true
			}
		}
	}
	if f.Each {
		f.Flush()
	}
	return !f.left
}

func (f *Flow) join(text string, thought bool) {
	if f.text != "" && f.thought != thought {
		f.Flush()
	}
	f.text, f.thought = f.text+text, thought
}

// Flush gives what waits, and reports whether more is wanted.
func (f *Flow) Flush() bool {
	text, calls := f.text, f.calls
	f.text, f.calls = "", false
	switch {
	case f.left:
	case text != "" && f.thought:
		f.left = !f.yield(model.ReasoningDelta{Text: text}, nil)
	case text != "":
		f.left = !f.yield(model.TextDelta{Text: text}, nil)
	case calls:
		f.left = !f.yield(model.ToolCallDelta{}, nil)
	}
	return !f.left
}

// Fail gives an error, behind what waits.
func (f *Flow) Fail(err error) {
	if f.Flush() {
		f.left = !f.yield(nil, err)
	}
}

// paced is a body that is read at a pace.
type paced struct {
	io.ReadCloser
	ctx    context.Context
	flow   *Flow
	number int64
	last   time.Time // of the last read's end
	much   bool      // it brought so much that more is there
	reads  int       // of the burst
	timer  *time.Timer
}

// Pace has the body of a response read at a pace, and the flow flushed before each read. The caller
// calls end when nothing more is read.
func Pace(ctx context.Context, res *http.Response, flow *Flow) (end func()) {
	streams.Add(1)
	res.Body = &paced{ReadCloser: res.Body, ctx: ctx, flow: flow, number: opened.Add(1)}
	return func() { streams.Add(-1) }
}

// Read implements [io.Reader].
func (p *paced) Read(b []byte) (int, error) {
	if !p.flow.Flush() {
		return 0, errLeft
	}
	if p.reads > quick && !p.much {
		p.wait(untilTick(p.number, p.last))
	}
	began := time.Now()
	n, err := p.ReadCloser.Read(b)
	p.last, p.much = time.Now(), n >= muchRead
	if p.reads++; p.last.Sub(began) > maxWindow { // another burst
		p.reads = 0
	}
	return n, err
}

func (p *paced) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	if p.timer == nil {
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	select {
	case <-p.timer.C:
	case <-p.ctx.Done():
		p.timer.Stop()
	}
}
