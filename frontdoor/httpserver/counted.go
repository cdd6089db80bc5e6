package httpserver

import (
	"cmp"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/agentworker/worker/frontdoor/httpserver/metrics"
)

// counted is an answer whose status is noted.
type counted struct {
	http.ResponseWriter
	path    string // of the route that answers; empty means there is none
	status  int
	revoked atomic.Bool // its caller may not have the rest of it
}

// errRevoked is the error of writing more to somebody whose token was removed.
var errRevoked = errors.New("the token does not count any more")

// WriteHeader implements [http.ResponseWriter].
func (c *counted) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (c *counted) Write(data []byte) (int, error) {
	if c.revoked.Load() {
		return 0, errRevoked
	}
	if c.status == 0 {
		c.status = http.StatusOK
	}
	return c.ResponseWriter.Write(data)
}

// Unwrap is for [http.ResponseController].
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// count counts the requests that next answers.
func count(with *metrics.Metrics, next func(w *counted, r *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &counted{ResponseWriter: w}
		defer func() { with.Request(c.path, r.Method, cmp.Or(c.status, http.StatusOK)) }()
		next(c, r)
	})
}
