package httpserver

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"
)

// mcpPath is where MCP is served.
const mcpPath = "/mcp"

// maxMCPBody bounds the body of an MCP request, in bytes. It is more than a
// task call needs: what is too large for that is then refused in MCP's words.
const maxMCPBody = 4 << 20

// serveMCP hands a request on that has passed the guard. The client has to send its request
// within the server's time limit. The answer may take long, but the client has to read each
// piece of it within [writeTimeout].
func (o *Options) serveMCP(w http.ResponseWriter, r *http.Request) error {
	body, err := readAll(w, r, maxMCPBody, "")
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	out := http.NewResponseController(w)
	if err := errors.Join(out.SetReadDeadline(time.Time{}), out.SetWriteDeadline(time.Time{})); err != nil {
		return err
	}
	o.MCP.ServeHTTP(&patient{w, out}, r)
	return nil
}

// patient is an answer that may take long as a whole, but no piece of it may.
type patient struct {
	http.ResponseWriter
	out *http.ResponseController
}

// Write implements [http.ResponseWriter].
func (p *patient) Write(data []byte) (int, error) {
	if err := p.out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return p.ResponseWriter.Write(data)
}

// FlushError is what [http.ResponseController] flushes by.
func (p *patient) FlushError() error {
	if err := p.out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return p.out.Flush()
}

// Unwrap is for [http.ResponseController].
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }
