package httpheader_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/internal/httpheader"
)

func TestCheck(t *testing.T) {
	for name, value := range map[string]string{"": "x", "a b": "x", "A:": "x", "A\t": "x", "A": "SECRET\r\nB: c", "B": "SECRET\x00", "C": "SECRET\n"} {
		if err := httpheader.Check(name, value); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %q: %v", name, value, err)
		}
	}
	if err := httpheader.Check("X-Tags", "a b: c\té"); err != nil {
		t.Error(err)
	}
}

func TestRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        time.Duration
		named       bool
	}{
		{"Retry-After", "2", 2 * time.Second, true}, {"Retry-After", "0.5", 500 * time.Millisecond, true}, {"Retry-After", "-1", 0, true},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond, true}, {"Retry-After", "1e300", 365 * 24 * time.Hour, true},
		{"Retry-After", "Thu, 01 Jan 1970 00:00:00 GMT", 0, true},
		{"Retry-After", "Inf", 0, false}, {"Retry-After", "NaN", 0, false}, {"Retry-After", "soon", 0, false}, {"X", "", 0, false},
	} {
		if wait, named := httpheader.RetryAfter(http.Header{tt.name: {tt.value}}); wait != tt.want || named != tt.named {
			t.Errorf("%s: %s: %v, %v, want %v, %v", tt.name, tt.value, wait, named, tt.want, tt.named)
		}
	}
}
