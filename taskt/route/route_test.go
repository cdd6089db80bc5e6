package route_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt/route"
)

// TestPick: a name counts, and nothing else does (D11).
func TestPick(t *testing.T) {
	r, err := route.New("cheap", map[string]string{"fast": "anthropic/a", "strong": "anthropic/b"})
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{
		"fast": "fast", " strong\n": "strong", "Fast": "", "fast.": "", "fast strong": "", "": "", "anthropic/a": "", "the model \x1b[2J": "",
	} {
		asked := ""
		got, err := r.Pick(t.Context(), "reviewer", strings.Repeat("x", 100_000), func(_ context.Context, h *session.Helper, prompt string) (string, error) {
			asked = h.Model + " " + h.System
			if len(prompt) > 5000 {
				t.Errorf("the prompt has %d bytes", len(prompt))
			}
			return answer, nil
		})
		if got != want || (err == nil) != (want != "") || !strings.HasPrefix(asked, "cheap ") || !strings.Contains(asked, "- fast (anthropic/a)\n- strong") {
			t.Errorf("%q: %q, %v, want %q", answer, got, err, want)
		}
	}
	if _, err := r.Pick(t.Context(), "a", "t", func(context.Context, *session.Helper, string) (string, error) { return "fast", errors.New("no key") }); err == nil || err.Error() != "no key" {
		t.Errorf("an error: %v", err)
	}
	if _, err := route.New("cheap", map[string]string{"one": "x"}); err == nil {
		t.Error("one model is no choice")
	}
}

// TestPickInTime: a model that does not answer is not waited for.
func TestPickInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := route.New("cheap", map[string]string{"fast": "a", "strong": "b"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Pick(t.Context(), "a", "t", func(ctx context.Context, _ *session.Helper, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		if err == nil || !strings.Contains(err.Error(), "it has not answered within 20s") {
			t.Error(err)
		}
	})
}
