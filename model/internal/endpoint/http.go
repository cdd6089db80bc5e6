// Package endpoint is what the adapters of model APIs share of HTTP: whom they
// ask, how long they wait before they ask again, and what an answer that is
// none means.
package endpoint

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/httpheader"
	"github.com/agentworker/worker/model"
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

// Middleware is one of Anthropic's SDK.
type Middleware = func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error)

// Retries is how a call is tried again: by [Retries.Post], or by an SDK that counts the
// tries itself.
type Retries struct {
	Max     int           // how often
	MaxWait time.Duration // the longest Retry-After that is waited for
}

// NewRetries returns the retries of an adapter's options: how often, nil means twice;
// and the longest wait, 0 means a minute.
func NewRetries(most *int, maxWait time.Duration) Retries {
	r := Retries{Max: 2, MaxWait: time.Minute}
	if most != nil {
		r.Max = max(0, *most)
	}
	if maxWait > 0 {
		r.MaxWait = maxWait
	}
	return r
}

// Telling returns a tell for [Retries.Middleware] that yields each further try,
// on the goroutine of the call, on which the tries are made. Where the
// range was left it cancels the call, and left reports so.
func Telling(yield func(model.Part, error) bool, cancel func()) (tell func(model.Retry) bool, left func() bool) {
	gone := false
	tell = func(retry model.Retry) bool {
		if !gone && !yield(retry, nil) {
			gone = true
			cancel()
		}
		return !gone
	}
	return tell, func() bool { return gone }
}

// Middleware returns what goes around each try of one call. It keeps the SDK
// from waiting for a Retry-After that is longer than MaxWait, or that goes beyond
// the deadline of the call: better say so at once. Where the server names no
// time, it does. tell hears of each further try before the wait for it; where
// it returns false the call has to end.
func (r Retries) Middleware(tell func(model.Retry) bool) Middleware {
	tries := 0
	return func(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		tries++
		res, err := next(req)
		if tries > r.Max || req.Context().Err() != nil {
			return res, err
		}
		retry := model.Retry{Reason: model.ErrUnavailable, Try: tries + 1, Tries: r.Max + 1}
		if res != nil && err == nil {
			if !retried(res) {
				return res, nil
			}
			wait, named := httpheader.RetryAfter(res.Header)
			deadline, ok := req.Context().Deadline()
			if wait > r.MaxWait || ok && wait > time.Until(deadline) {
				res.Header.Set("X-Should-Retry", "false")
				return res, nil
			}
			if !named {
				wait = backoff(tries)
				res.Header.Set("Retry-After-Ms", strconv.FormatInt(wait.Milliseconds(), 10))
			}
			retry.Reason, retry.Wait = KindOf(res.StatusCode), wait
		}
		if !tell(retry) && res != nil {
			res.Header.Set("X-Should-Retry", "false")
		}
		return res, err
	}
}

// Post sends a JSON document, as often as the retries say, and returns the last answer, or
// the error of the last try. Close the body of the answer. For tell see
// [Retries.Middleware].
func (r Retries) Post(ctx context.Context, client *http.Client, url string, header http.Header, body []byte, tell func(model.Retry) bool) (*http.Response, error) {
	around := r.Middleware(tell)
	for tries := 1; ; tries++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		maps.Copy(req.Header, header)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Stainless-Retry-Count", strconv.Itoa(tries-1)) // as the SDKs say it
		res, err := around(req, client.Do)
		if tries > r.Max || ctx.Err() != nil || err == nil && !retried(res) {
			return res, err
		}
		wait := backoff(tries)
		if err == nil {
			if named, ok := httpheader.RetryAfter(res.Header); ok {
				wait = named
			}
			_ = res.Body.Close() // another answer counts
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// retried reports whether a call is made again that res answers.
func retried(res *http.Response) bool {
	switch res.Header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	status := res.StatusCode
	return status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooEarly || status == http.StatusTooManyRequests || status >= 500
}

// backoff is how long to wait after so many tries where nobody says: half a
// second, twice as long each time, up to 8 s, less up to a quarter by chance.
func backoff(tries int) time.Duration {
	wait := min(500*time.Millisecond<<(min(tries, 10)-1), 8*time.Second)
	return wait - rand.N(wait/4)
}

// untilReset returns after what time a limit is reset that is used up, as Anthropic's
// API says it by an instant (anthropic-ratelimit-tokens-reset beside …-remaining), and
// OpenAI's by a duration (x-ratelimit-reset-tokens): the longest of them. 0 means neither
// says so.
func untilReset(h http.Header) time.Duration {
	var wait time.Duration
	for name := range h {
		limit, ok := strings.CutPrefix(name, "Anthropic-Ratelimit-")
		if limit, reset := strings.CutSuffix(limit, "-Reset"); ok && reset && used(h, "Anthropic-Ratelimit-"+limit+"-Remaining") {
			if at, err := time.Parse(time.RFC3339, h.Get(name)); err == nil {
				wait = max(wait, time.Until(at))
			}
		}
		limit, ok = strings.CutPrefix(name, "X-Ratelimit-Reset-")
		if ok && used(h, "X-Ratelimit-Remaining-"+limit) {
			if d, err := time.ParseDuration(h.Get(name)); err == nil {
				wait = max(wait, d)
			}
		}
	}
	return min(wait, maxReset)
}

// maxReset is the longest time that is believed of a reset.
const maxReset = 365 * 24 * time.Hour

// used reports whether nothing is left of a limit.
func used(h http.Header, remaining string) bool {
	n, err := strconv.ParseFloat(h.Get(remaining), 64)
	return err == nil && n <= 0
}
