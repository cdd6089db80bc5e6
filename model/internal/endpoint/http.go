// Package endpoint is what the adapters of model APIs share of HTTP: whom they
// ask, how long they wait before they ask again, and what an answer that is
// none means.
package endpoint

import (
	"net/http"
	"strconv"
	"time"
)

// WithoutRedirects returns a client like base that follows no redirects: Go
// would hand the key on to where they lead.
func WithoutRedirects(base *http.Client) *http.Client {
	var client http.Client
	if base != nil {
		client = *base
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// Middleware is one of either SDK.
type Middleware = func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error)

// BoundRetries keeps an SDK from waiting for a Retry-After that is longer than
// limit, or that goes beyond the deadline of the call: better say so at once.
func BoundRetries(limit time.Duration) Middleware {
	return func(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		res, err := next(req)
		if err != nil || res == nil {
			return res, err
		}
		wait := retryAfter(res.Header)
		deadline, ok := req.Context().Deadline()
		if wait > limit || ok && wait > time.Until(deadline) {
			res.Header.Set("X-Should-Retry", "false")
		}
		return res, nil
	}
}

// retryAfter returns what a response asks to wait; 0: it does not say.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return positive(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return positive(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

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
