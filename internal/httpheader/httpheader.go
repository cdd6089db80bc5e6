// Package httpheader checks headers that people write, and reads those that servers send.
package httpheader

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Check returns an error for what can't be a header. It does not show the value, which may be a
// secret.
func Check(name, value string) error {
	if name == "" || strings.ContainsAny(name+value, "\r\n\x00") || strings.ContainsAny(name, " :\t") {
		return fmt.Errorf("%.40q can't be a header", name)
	}
	return nil
}

// RetryAfter returns how long a response asks to wait, and whether it does: in seconds, as a date,
// or in milliseconds by Retry-After-Ms.
func RetryAfter(h http.Header) (wait time.Duration, named bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && finite(ms) {
		return positive(ms * float64(time.Millisecond)), true
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && finite(seconds) {
		return positive(seconds * float64(time.Second)), true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}

// finite reports whether a number is one: Go reads NaN and Inf as well.
func finite(n float64) bool { return !math.IsNaN(n) && !math.IsInf(n, 0) }

// positive returns d where it is a duration; what is none is no wait, and what
// is too long for one is a year.
func positive(d float64) time.Duration {
	const year = 365 * 24 * time.Hour
	switch {
	case d >= float64(year):
		return year
	case d > 0:
		return time.Duration(d)
	default:
		return 0
	}
}
