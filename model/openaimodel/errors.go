package openaimodel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

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
		e.Message = fmt.Sprintf("%s does not answer as the Chat Completions API does (content type %q); check the base URL", m.shownBase(), media)
		return e
	case res.StatusCode < 400:
		e.Message = m.message(fmt.Sprintf("%s redirects to %s; set the base URL to where the API is", m.shownBase(), res.Header.Get("Location")))
		return e
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // what can be read will do
	var envelope struct{ Error json.RawMessage }
	if json.Unmarshal(body, &envelope) == nil && len(envelope.Error) > 0 {
		body = envelope.Error
	}
	said := sentError(body)
	if said.Kind == model.ErrAuth { // a 429 whose cause is the account is no matter of waiting
		e.Kind = said.Kind
	}
	if e.Message = m.message(said.Message); e.Message == "" || media == "text/html" { // a gateway's page
		e.Message = http.StatusText(res.StatusCode)
	}
	if res.StatusCode == http.StatusNotFound {
		e.Message += fmt.Sprintf(" (check the model's name and the base URL %s, which may have to end in /v1)", m.shownBase())
	}
	return e
}

// failed returns the error of an answer that cannot be read, or that holds an
// error of the server.
func (m *Model) failed(err error) error {
	var sent *wireError
	if errors.As(err, &sent) {
		return &model.Error{Model: m.Name(), Kind: sent.Kind, Message: m.message("in the midst of the answer: " + sent.Message)}
	}
	return m.errorf(model.ErrProtocol, err)
}

// broken returns the error of a call that err has ended, or that ended without
// an error before its answer was complete.
func (m *Model) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", m.Name(), ctx.Err())
	}
	var (
		network  net.Error
		urlError *url.Error
	)
	switch {
	case err == nil:
		return m.errorf(model.ErrUnavailable, errors.New("the connection ended before the answer was complete"))
	case errors.Is(err, bufio.ErrTooLong):
		return m.errorf(model.ErrProtocol, fmt.Errorf("reading the answer: %w", err))
	case errors.As(err, &network) && network.Timeout():
		return m.errorf(model.ErrTimeout, fmt.Errorf("the HTTP client's time limit has passed: %w", err))
	case errors.As(err, &urlError):
		return m.errorf(model.ErrUnavailable, fmt.Errorf("no answer from %s: %w", m.shownBase(), urlError.Err))
	default:
		return m.errorf(model.ErrUnavailable, fmt.Errorf("the connection broke before the answer was complete: %w", err))
	}
}

// wireError is an error that the server has sent.
type wireError struct {
	Kind    model.ErrorKind
	Message string
}

func (e *wireError) Error() string { return e.Message }

// sentError reads an error object, in the shapes that servers give it: OpenAI's
// {"message", "type", "code"}, with a number for the code at OpenRouter and
// vLLM, or a mere string at Ollama.
func sentError(data []byte) *wireError {
	var object struct {
		Message string
		Type    text
		Code    text
	}
	var words string
	switch {
	case json.Unmarshal(data, &object) == nil && object.Message != "":
		words = object.Message
	case json.Unmarshal(data, &words) == nil:
	default:
		words = string(bytes.TrimSpace(data))
	}
	e := &wireError{Kind: model.ErrUnavailable, Message: words}
	if status, err := strconv.Atoi(string(object.Code)); err == nil && status >= 400 {
		e.Kind = kindOf(status)
	}
	for _, name := range []text{object.Type, object.Code} {
		if kind, ok := errorKinds[string(name)]; ok {
			e.Kind = kind
		}
	}
	return e
}

// errorKinds are the types and codes of errors that are in use.
var errorKinds = map[string]model.ErrorKind{
	"invalid_request_error":   model.ErrInvalid,
	"BadRequestError":         model.ErrInvalid, // vLLM
	"context_length_exceeded": model.ErrInvalid,
	"authentication_error":    model.ErrAuth,
	"invalid_api_key":         model.ErrAuth,
	"insufficient_quota":      model.ErrAuth,
	"rate_limit_exceeded":     model.ErrRateLimited,
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
