package endpoint

import (
	"net/http"
	"testing"
	"time"
)

func TestUntilReset(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	for _, c := range []struct {
		header   map[string]string
		min, max time.Duration
	}{
		{map[string]string{}, 0, 0},
		{map[string]string{"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": in(10 * time.Minute)}, 9 * time.Minute, 10 * time.Minute},
		{map[string]string{"anthropic-ratelimit-tokens-remaining": "5", "anthropic-ratelimit-tokens-reset": in(10 * time.Minute)}, 0, 0},
		{map[string]string{"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": in(-time.Hour)}, 0, 0},
		{map[string]string{"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "soon"}, 0, 0},
		{map[string]string{"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s"}, 6 * time.Minute, 6 * time.Minute},
		{map[string]string{"x-ratelimit-reset-tokens": "6m0s"}, 0, 0},
		{map[string]string{"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "2000000h"}, maxReset, maxReset},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		if got := untilReset(h); got < c.min || got > c.max {
			t.Errorf("%v: %s, want %s to %s", c.header, got, c.min, c.max)
		}
	}
}
