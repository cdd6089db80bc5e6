package httpserver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/frontdoor/httpserver/problem"
	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// writeTimeout is how long a client may take to accept one piece of an answer.
const writeTimeout = 30 * time.Second

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// jsonType is the type of a JSON document.
const jsonType = "application/json"

// errNotTaken is the error of a client that has disconnected, or stalls.
var errNotTaken = errors.New("the client does not read the answer")

// handler answers a request. [fail] answers with the error that it returns; it returns
// none once it has written something.
type handler func(w http.ResponseWriter, r *http.Request) error

// plain makes a handler of one that answers with its errors itself.
func plain(h http.HandlerFunc) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		h(w, r)
		return nil
	}
}

// answer writes a JSON document.
func answer(w http.ResponseWriter, status int, body any) error {
	data, err := encode(body)
	if err != nil {
		return err
	}
	return write(w, status, jsonType, data)
}

// answerTagged writes a JSON document with its entity tag. A client that has the same one
// gets only status 304.
func answerTagged(w http.ResponseWriter, r *http.Request, body any) error {
	data, err := encode(body)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	w.Header().Set("ETag", tag)
	if hasTag(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return write(w, http.StatusOK, jsonType, data)
}

// hasTag reports whether a header If-None-Match names a tag, or all tags.
func hasTag(header []string, tag string) bool {
	for part := range strings.SplitSeq(strings.Join(header, ","), ",") {
		if part = strings.TrimSpace(part); part == "*" || strings.TrimPrefix(part, "W/") == tag {
			return true
		}
	}
	return false
}

// encode returns the form of a document on the wire.
func encode(body any) ([]byte, error) {
	data, err := caller.JSON(body)
	if err != nil {
		return nil, fmt.Errorf("encoding an answer: %w", err)
	}
	return append(data, '\n'), nil
}

// write writes an answer. The error is errNotTaken.
func write(w http.ResponseWriter, status int, mediaType string, data []byte) error {
	w.Header().Set("Content-Type", mediaType)
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		w.WriteHeader(status)
		_, err = w.Write(data)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotTaken, err)
	}
	return nil
}

// fail answers with an error, unless the client has disconnected.
func fail(w http.ResponseWriter, why error, log *slog.Logger) {
	if !errors.Is(why, errNotTaken) {
		e := caller.Explain(why, log)
		var data []byte
		if data, why = encode(problem.Of(e)); why == nil {
			if seconds := problem.RetryAfter(e.Code); seconds > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(seconds))
			}
			why = write(w, e.Status, problem.MediaType, data)
		}
	}
	if why != nil {
		log.Debug("answering a request", "err", why)
	}
}

// maxTaskBody bounds the body of a task call, which may bring pictures along.
const maxTaskBody = 8 << 20

// readBody reads the body of a request, which is JSON.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return readJSON(w, r, maxBody, "")
}

// readJSON reads a body of up to limit bytes, which is JSON. instead says what to do about a longer
// one; it may be empty.
func readJSON(w http.ResponseWriter, r *http.Request, limit int64, instead string) ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != jsonType {
		return nil, &caller.Error{
			Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type",
			Message: "send JSON, with the header 'Content-Type: application/json'",
		}
	}
	body, err := readAll(w, r, limit, instead)
	if err != nil {
		return nil, err
	}
	// The request is here; what follows may take long.
	return body, http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// readAll reads the body of a request with no more than limit bytes. instead is as in [readJSON].
func readAll(w http.ResponseWriter, r *http.Request, limit int64, instead string) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if errors.As(err, new(*http.MaxBytesError)) {
		return nil, &caller.Error{
			Status: http.StatusRequestEntityTooLarge, Code: "too_large",
			Message: fmt.Sprintf("the body has more than %d bytes%s", limit, instead),
		}
	}
	if err != nil {
		return nil, caller.BadRequest(fmt.Errorf("reading the body: %w", err))
	}
	return body, nil
}

// by says to people who makes a request.
func by(r *http.Request) string { return byAs(r, "an HTTP client").Text }

// byAs says who makes a request, and to people what is done so.
func byAs(r *http.Request, what string) caller.By {
	identity := caller.IdentityOf(r.Context())
	return caller.By{Text: identity.By(what), Person: identity.Person()}
}
