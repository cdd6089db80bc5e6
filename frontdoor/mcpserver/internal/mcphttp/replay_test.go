package mcphttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// kept returns the events of a stream after an index, as one text.
func (r *replay) kept(session, stream string, index int) (string, error) {
	var all [][]byte
	for data, err := range r.After(context.Background(), session, stream, index) {
		if err != nil {
			return "", err
		}
		all = append(all, data)
	}
	return string(bytes.Join(all, []byte(" "))), nil
}

func (r *replay) put(t *testing.T, session, stream string, events ...string) {
	t.Helper()
	if err := r.Open(t.Context(), session, stream); err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if err := r.Append(t.Context(), session, stream, []byte(ev)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplay(t *testing.T) {
	r := newReplay()
	r.put(t, "a", "1", "x", "y", "z")
	r.put(t, "b", "1", "other")
	for _, tt := range []struct {
		session, stream string
		index           int
		want            string
		purged          bool
	}{
		{"a", "1", -1, "x y z", false},
		{"a", "1", 1, "z", false},
		{"a", "1", 2, "", false},
		{"a", "1", 99, "", false},
		{"b", "1", -1, "other", false},
		{"a", "2", 0, "", true},
		{"c", "1", 0, "", true},
	} {
		got, err := r.kept(tt.session, tt.stream, tt.index)
		if got != tt.want || errors.Is(err, mcp.ErrEventsPurged) != tt.purged {
			t.Errorf("%s/%s after %d: %q, %v, want %q", tt.session, tt.stream, tt.index, got, err, tt.want)
		}
	}
	if err := r.SessionClosed(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.kept("a", "1", -1); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("of a closed session: %v", err)
	}
	if got, err := r.kept("b", "1", -1); got != "other" || err != nil {
		t.Errorf("of another one: %q, %v", got, err)
	}
}

// TestReplayBounds: a session's oldest events give way, never another's.
func TestReplayBounds(t *testing.T) {
	r := newReplay()
	r.put(t, "quiet", "1", "kept")
	r.put(t, "busy", "", "news")
	big := strings.Repeat("x", maxReplayBytes/4)
	for i := range 2 * maxReplayStreams {
		r.put(t, "busy", fmt.Sprint(i), big)
	}
	s := r.sessions["busy"]
	if s.bytes > maxReplayBytes || len(s.streams) != maxReplayStreams {
		t.Errorf("%d bytes in %d streams, want at most %d in %d", s.bytes, len(s.streams), maxReplayBytes, maxReplayStreams)
	}
	last := fmt.Sprint(2*maxReplayStreams - 1)
	if got, err := r.kept("busy", last, -1); got != big || err != nil {
		t.Errorf("the newest: %d bytes, %v", len(got), err)
	}
	if _, err := r.kept("busy", "0", -1); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("the oldest: %v, want %v", err, mcp.ErrEventsPurged)
	}
	if _, err := r.kept("busy", "", -1); err != nil {
		t.Errorf("what belongs to no request: %v", err)
	}
	if got, err := r.kept("quiet", "1", -1); got != "kept" || err != nil {
		t.Errorf("another session: %q, %v", got, err)
	}
	r.put(t, "one", "1", strings.Repeat("y", 2*maxReplayBytes))
	if got, err := r.kept("one", "1", -1); len(got) != 2*maxReplayBytes || err != nil {
		t.Errorf("an event beyond the bound: %d bytes, %v", len(got), err)
	}
	for i := range maxReplayEvents + 10 {
		r.put(t, "many", "1", fmt.Sprint(i))
	}
	if _, err := r.kept("many", "1", 8); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("after an event before the first that is kept: %v", err)
	}
	if got, err := r.kept("many", "1", maxReplayEvents+8); got != fmt.Sprint(maxReplayEvents+9) || err != nil {
		t.Errorf("the last of many: %q, %v", got, err)
	}
}

// TestReplayProperties: what is replayed is what was appended after the event,
// all of it and in order, or an error.
func TestReplayProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newReplay()
		sent := make(map[string][]string)
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			stream := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "stream")
			data := strings.Repeat(rapid.StringMatching(`[a-z]`).Draw(t, "data"), rapid.SampledFrom([]int{1, 1000, maxReplayBytes / 3}).Draw(t, "length"))
			if err := errors.Join(r.Open(t.Context(), "s", stream), r.Append(t.Context(), "s", stream, []byte(data))); err != nil {
				t.Fatal(err)
			}
			sent[stream] = append(sent[stream], data)
			sum := 0
			for _, kept := range r.sessions["s"].streams {
				for _, ev := range kept.events {
					sum += len(ev)
				}
			}
			if sum != r.sessions["s"].bytes || sum > maxReplayBytes {
				t.Fatalf("%d bytes are kept, counted as %d", sum, r.sessions["s"].bytes)
			}
		}
		for stream, events := range sent {
			index := rapid.IntRange(0, len(events)-1).Draw(t, "index")
			got, err := r.kept("s", stream, index)
			if want := strings.Join(events[index+1:], " "); err == nil && got != want {
				t.Fatalf("stream %q after %d: %d bytes, want %d", stream, index, len(got), len(want))
			}
			if err != nil && !errors.Is(err, mcp.ErrEventsPurged) {
				t.Fatal(err)
			}
		}
	})
}
