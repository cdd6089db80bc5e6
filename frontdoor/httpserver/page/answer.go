package page

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"time"

	"github.com/agentworker/worker/frontdoor/httpserver/problem"
	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// contentPolicy lets the page run its own scripts and reach its own server, and nothing else.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types markdown"

// setHeaders sets the headers of every answer of the page. The server adds nosniff and no-store.
func setHeaders(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Content-Security-Policy", contentPolicy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// read reads the JSON body of a request. A field that into lacks is an error.
func read(w http.ResponseWriter, r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &caller.Error{
			Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type",
			Message: "send JSON, with the header 'Content-Type: application/json'",
		}
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return caller.BadRequest(fmt.Errorf("reading the request: %w", err))
	}
	return nil
}

// answers writes the answers to browsers.
type answers struct{ log *slog.Logger }

// answer writes a JSON document, or the error that there is.
func (a answers) answer(w http.ResponseWriter, body any, err error) {
	if err != nil {
		a.fail(w, err)
		return
	}
	a.json(w, http.StatusOK, "application/json", body)
}

// fail answers with an error.
func (a answers) fail(w http.ResponseWriter, why error) {
	e := caller.Explain(why, a.log)
	a.json(w, e.Status, problem.MediaType, problem.Of(e))
}

func (a answers) json(w http.ResponseWriter, status int, mediaType string, body any) {
	setHeaders(w)
	data, err := caller.JSON(body)
	if err != nil {
		a.log.Error("encoding an answer of the page", "err", err)
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", mediaType)
	a.write(w, status, data)
}

// writeTimeout is how long a browser may take to accept one piece of an answer.
const writeTimeout = 30 * time.Second

func (a answers) write(w http.ResponseWriter, status int, data []byte) {
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		w.WriteHeader(status)
		_, err = w.Write(data)
	}
	if err != nil {
		a.log.Debug("answering a browser that has gone", "err", err)
	}
}
