package anthropicmodel

import (
	"bufio"
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

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/agentworker/worker/model"
)

// The sizes that keep an error readable.
const (
	maxErrorBody = 64 << 10 // bytes
	maxMessage   = 500      // characters
)

// errorf returns an error of a kind with the words and the cause of err.
func (m *Model) errorf(kind model.ErrorKind, err error) *model.Error {
	return &model.Error{Model: m.Name(), Kind: kind, Message: m.message(err.Error()), Err: err}
}

// message makes a message fit to be shown: one line, not long, without the key.
func (m *Model) message(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if m.key != "" {
		text = strings.ReplaceAll(text, m.key, "[key]")
	}
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage]) + "…"
	}
	return text
}

// isStream reports whether a response has an answer. Servers that are not what
// they are taken for answer with a page, or redirect to one.
func isStream(res *http.Response) bool {
	if res == nil || res.StatusCode >= 300 {
		return false
	}
	media := mediaType(res)
	return media != "text/html" && media != "application/json"
}

// mediaType returns the media type of a response; empty: it has none.
func mediaType(res *http.Response) string {
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

// refused returns the error of a call whose answer has not begun: err, or what
// res says.
func (m *Model) refused(ctx context.Context, res *http.Response, err error) error {
	if ctx.Err() != nil || res == nil {
		return m.broken(ctx, err)
	}
	e := &model.Error{Model: m.Name(), Kind: kindOf(res.StatusCode), Status: res.StatusCode, RetryAfter: retryAfter(res.Header)}
	media := mediaType(res)
	switch {
	case res.StatusCode < 300:
		e.Message = fmt.Sprintf("%s does not answer as the Messages API does (content type %q); check the base URL", m.shownBase(), media)
		return e
	case res.StatusCode < 400:
		e.Message = m.message(fmt.Sprintf("%s redirects to %s; set the base URL to where the API is", m.shownBase(), res.Header.Get("Location")))
		return e
	}
	var envelope struct {
		Error struct {
			Type    string
			Message string
		}
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // what can be read will do
	text := string(body)
	if json.Unmarshal(body, &envelope) == nil && envelope.Error.Message != "" {
		text = envelope.Error.Message
		if kind, ok := errorKinds[envelope.Error.Type]; ok {
			e.Kind = kind
		}
	}
	if blank(text) || media == "text/html" { // a gateway's page
		text = http.StatusText(res.StatusCode)
	}
	if res.StatusCode == http.StatusNotFound {
		text += fmt.Sprintf(" (check the model's name and the base URL %s)", m.shownBase())
	}
	e.Message = m.message(text)
	return e
}

// broken returns the error of a call that err has ended, or that ended without
// an error before its answer was complete.
func (m *Model) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", m.Name(), ctx.Err())
	}
	var (
		sent     *anthropic.Error // an error event
		network  net.Error
		urlError *url.Error
		syntax   *json.SyntaxError
		wrong    *json.UnmarshalTypeError
	)
	switch {
	case err == nil:
		return m.errorf(model.ErrUnavailable, errors.New("the connection ended before the answer was complete"))
	case errors.As(err, &sent):
		return m.sent(sent)
	case errors.As(err, &syntax), errors.As(err, &wrong), errors.Is(err, bufio.ErrTooLong):
		return m.errorf(model.ErrProtocol, fmt.Errorf("reading the answer: %w", err))
	case errors.As(err, &network) && network.Timeout():
		return m.errorf(model.ErrTimeout, fmt.Errorf("the HTTP client's time limit has passed: %w", err))
	case errors.As(err, &urlError):
		return m.errorf(model.ErrUnavailable, fmt.Errorf("no answer from %s: %w", m.shownBase(), urlError.Err))
	default:
		return m.errorf(model.ErrUnavailable, fmt.Errorf("the connection broke before the answer was complete: %w", err))
	}
}

// sent returns the error that an event in the midst of an answer tells of. The
// SDK's own is left out: it shows the request.
func (m *Model) sent(err *anthropic.Error) error {
	var envelope struct{ Error struct{ Message string } }
	text := string(err.Type())
	if json.Unmarshal([]byte(err.RawJSON()), &envelope) == nil && envelope.Error.Message != "" {
		text = envelope.Error.Message
	}
	if text == "" {
		text = "an error without a message"
	}
	kind, ok := errorKinds[string(err.Type())]
	if !ok {
		kind = model.ErrUnavailable
	}
	return &model.Error{Model: m.Name(), Kind: kind, Message: m.message("in the midst of the answer: " + text)}
}

// errorKinds are the API's error types:
// https://platform.claude.com/docs/en/api/errors
var errorKinds = map[string]model.ErrorKind{
	"authentication_error":  model.ErrAuth,
	"permission_error":      model.ErrAuth,
	"billing_error":         model.ErrAuth,
	"invalid_request_error": model.ErrInvalid,
	"not_found_error":       model.ErrInvalid,
	"request_too_large":     model.ErrInvalid,
	"rate_limit_error":      model.ErrRateLimited,
	"api_error":             model.ErrUnavailable,
	"overloaded_error":      model.ErrUnavailable,
	"timeout_error":         model.ErrUnavailable,
}

func kindOf(status int) model.ErrorKind {
	switch {
	case status < 400:
		return model.ErrProtocol
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired:
		return model.ErrAuth
	case status == http.StatusTooManyRequests:
		return model.ErrRateLimited
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict:
		return model.ErrUnavailable
	default:
		return model.ErrInvalid
	}
}

// shownBase returns the base URL without a password.
func (m *Model) shownBase() string {
	u, err := url.Parse(m.base)
	if err != nil {
		return "the base URL"
	}
	return u.Redacted()
}
