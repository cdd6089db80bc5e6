package endpoint_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
)

// drip is a body of n bytes, one at a time. What is not read waits, as in a socket.
type drip struct {
	every time.Duration
	began time.Time
	n     int
	read  int
	reads int
}

func (d *drip) Close() error { return nil }

func (d *drip) Read(p []byte) (int, error) {
	if d.read == d.n {
		return 0, io.EOF
	}
	d.reads++
	next := d.began.Add(time.Duration(d.read+1) * d.every)
	<-time.After(time.Until(next))
	n := min(int(time.Since(d.began)/d.every), d.n) - d.read
	n = min(n, len(p))
	d.read += n
	return n, nil
}

// TestPace: what comes steadily is read at a pace, without loss. The first of a burst comes at once, and
// nothing is held up for longer than the window.
func TestPace(t *testing.T) {
	for _, test := range []struct {
		every   time.Duration
		streams int // that are open besides
		most    int // parts of 1,000
		longest time.Duration
	}{
		{5 * time.Millisecond, 0, 170, 40 * time.Millisecond},
		{20 * time.Millisecond, 0, 620, 60 * time.Millisecond},
		{20 * time.Millisecond, 1000, 140, 180 * time.Millisecond},
		{200 * time.Millisecond, 0, 1000, 0},
		{200 * time.Millisecond, 1000, 1000, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			for range test.streams {
				defer endpoint.Pace(t.Context(), &http.Response{}, nil)()
			}
			body := &drip{every: test.every, began: time.Now(), n: 1000}
			var given, parts int
			var longest time.Duration
			first := time.Duration(-1)
			flow := endpoint.NewFlow(func(part model.Part, _ error) bool {
				parts++
				text := part.(model.TextDelta).Text
				if first < 0 {
					first = time.Since(body.began)
				}
				longest = max(longest, time.Since(body.began.Add(time.Duration(given+1)*test.every)))
				given += len(text)
				return true
			})
			res := &http.Response{Body: body}
			defer endpoint.Pace(t.Context(), res, flow)()
			buf := make([]byte, 4096)
			for {
				n, err := res.Body.Read(buf)
				for _, b := range buf[:n] {
					flow.Add(model.TextDelta{Text: string(rune(b + 'a'))})
				}
				if err != nil {
					break
				}
			}
			flow.Flush()
			if given != 1000 || first != test.every || parts > test.most || longest > test.longest {
				t.Errorf("a byte each %v beside %d streams: %d bytes in %d parts, the first after %v, one after %v; want at most %d parts, %v late",
					test.every, test.streams, given, parts, first, longest, test.most, test.longest)
			}
		})
	}
}

// TestFlow: pieces of a text are one part until the flow is flushed; a caller that leaves gets no more.
func TestFlow(t *testing.T) {
	var got []model.Part
	flow := endpoint.NewFlow(func(part model.Part, _ error) bool {
		got = append(got, part)
		return len(got) < 3
	})
	flow.Add(model.ReasoningDelta{Text: "h"}, model.ReasoningDelta{Text: "m"}, model.TextDelta{Text: "s"}, model.TextDelta{Text: "o"}, model.ToolCallDelta{})
	flow.Flush()
	more := flow.Add(model.ToolCallDelta{}, model.Stop{Reason: model.StopEnd})
	want := []model.Part{model.ReasoningDelta{Text: "hm"}, model.TextDelta{Text: "so"}, model.ToolCallDelta{}}
	if more || len(got) != len(want) {
		t.Fatalf("got %v, more %v, want %v", got, more, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got[i], want[i])
		}
	}
}
