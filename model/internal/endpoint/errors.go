package endpoint

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/httpheader"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
)

// The sizes that keep an error readable.
const (
	maxErrorBody = 64 << 10 // bytes
	maxMessage   = 500      // characters
)

// Endpoint is whom an adapter asks, as errors speak of it.
type Endpoint struct {
	Model string // the model's name, as model.Model has it
	API   string // for example "the Messages API"
	Base  string // the base URL
	Key   string // never shown
	Hint  string // added to what is said of the base URL where nothing is found

	// Read reads the body of a refusal.
	Read func(body []byte) Refusal
}

// Refusal is what a server says of an error.
type Refusal struct {
	Kind model.ErrorKind // empty means the HTTP status says it
	Code string          // the code or type; may be empty
	Text string
}

// Errorf returns an error of a kind with the words and the cause of err.
func (e *Endpoint) Errorf(kind model.ErrorKind, err error) *model.Error {
	return &model.Error{Model: e.Model, Kind: kind, Message: e.message(errtext.Of(err)), Err: err}
}

// Sent returns the error that the server tells of in the midst of an answer.
func (e *Endpoint) Sent(said Refusal) *model.Error {
	text := said.Text
	if strings.TrimSpace(text) == "" {
		text = "an error without a message"
	}
	return &model.Error{Model: e.Model, Kind: said.Kind, Code: said.Code, Message: e.message("in the middle of the answer: " + text)}
}

// Garbled returns the error of an answer with an event that can't be read. Another try may bring it whole.
func (e *Endpoint) Garbled(err error) *model.Error {
	garbled := e.Errorf(model.ErrProtocol, err)
	garbled.Incomplete = true
	return garbled
}

// message makes a message fit to be shown: one line, not long, without the key.
func (e *Endpoint) message(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(e.Key) >= minKey {
		text = strings.ReplaceAll(text, e.Key, "[key]")
	}
	return termtext.Cut(text, maxMessage)
}

// minKey is the shortest key that is hidden. A shorter one is a word for a local server, which may
// stand anywhere in a message.
const minKey = 8

// IsStream reports whether a response has an answer. Servers that are not what
// they are taken for answer with a page, or redirect to one. Some answer with one JSON
// document instead: see [Whole].
func IsStream(res *http.Response) bool {
	if res == nil || res.StatusCode >= 300 {
		return false
	}
	media := mediaType(res)
	return media != "text/html" && media != "application/json"
}

// mediaType returns the media type of a response; empty means it has none.
func mediaType(res *http.Response) string {
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

// Refused returns the error of a call whose answer has not begun: err, or what
// res says.
func (e *Endpoint) Refused(ctx context.Context, res *http.Response, err error) error {
	if ctx.Err() != nil || res == nil {
		return e.Broken(ctx, err)
	}
	refused := &model.Error{Model: e.Model, Kind: KindOf(res.StatusCode), Status: res.StatusCode}
	if wait, named := httpheader.RetryAfter(res.Header); named || res.StatusCode != http.StatusTooManyRequests {
		refused.RetryAfter = wait
	} else {
		refused.RetryAfter = untilReset(res.Header)
	}
	media := mediaType(res)
	switch {
	case res.StatusCode < 300:
		if body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)); media == "application/json" && bytes.Contains(body, []byte(`"error"`)) {
			said := e.Read(body)
			return &model.Error{Model: e.Model, Kind: cmp.Or(said.Kind, model.ErrUnavailable), Status: res.StatusCode, Code: said.Code, Message: e.message(said.Text)}
		}
		refused.Message = fmt.Sprintf("%s does not answer as %s does (content type %q); check the base URL", e.shownBase(), e.API, media)
		return refused
	case res.StatusCode < 400:
		refused.Message = e.message(fmt.Sprintf("%s redirects to %s; set the base URL to where the API is", e.shownBase(), res.Header.Get("Location")))
		return refused
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // what can be read will do
	said := e.Read(body)
	refused.Kind, refused.Code = cmp.Or(said.Kind, refused.Kind), said.Code
	if refused.Message = e.message(said.Text); refused.Message == "" || media == "text/html" { // a gateway's page
		refused.Message = http.StatusText(res.StatusCode)
	}
	if res.StatusCode == http.StatusNotFound {
		refused.Message += fmt.Sprintf(" (check the model's name and the base URL %s%s)", e.shownBase(), e.Hint)
	}
	return refused
}

// Broken returns the error of a call that err has ended, or that ended without
// an error before its answer was complete.
func (e *Endpoint) Broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", e.Model, ctx.Err())
	}
	var (
		network  net.Error
		urlError *url.Error
		syntax   *json.SyntaxError
		wrong    *json.UnmarshalTypeError
	)
	if own, ok := errors.AsType[*model.Error](err); ok { // of the client, before anything was sent
		return &model.Error{Model: e.Model, Kind: own.Kind, Message: e.message(own.Message), Err: own.Err}
	}
	switch {
	case err == nil:
		return e.Errorf(model.ErrUnavailable, errors.New("the connection ended before the answer was complete"))
	case errors.As(err, &syntax), errors.As(err, &wrong):
		return e.Garbled(fmt.Errorf("reading the answer: %w", err))
	case errors.Is(err, bufio.ErrTooLong):
		return e.Errorf(model.ErrProtocol, fmt.Errorf("reading the answer: %w", err))
	case errors.As(err, &network) && network.Timeout():
		return e.Errorf(model.ErrTimeout, fmt.Errorf("the HTTP client's time limit has passed: %w", err))
	case errors.As(err, &urlError):
		cause := urlError.Err
		if dial, ok := errors.AsType[*net.OpError](urlError.Err); ok { // whose address is that of the base
			cause = dial.Err
		}
		return e.Errorf(model.ErrUnavailable, fmt.Errorf("no answer from %s: %w", e.shownBase(), cause))
	default:
		return e.Errorf(model.ErrUnavailable, fmt.Errorf("the connection broke before the answer was complete: %w", err))
	}
}

// KindOf returns what kind of error an HTTP status is.
func KindOf(status int) model.ErrorKind {
	switch {
	case status < 400:
		return model.ErrProtocol
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired:
		return model.ErrAuth
	case status == http.StatusTooManyRequests:
		return model.ErrRateLimited
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return model.ErrUnavailable
	default:
		return model.ErrInvalid
	}
}

// shownBase returns the base URL without a password.
func (e *Endpoint) shownBase() string {
	u, err := url.Parse(e.Base)
	if err != nil {
		return "the base URL"
	}
	return u.Redacted()
}
