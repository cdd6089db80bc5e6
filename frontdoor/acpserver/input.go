package acpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/internal/termtext"
)

// maxMessage bounds, in bytes, a message of a client.
const maxMessage = 10_000_000

// Bounds of the requests that wait for an answer. More are refused, while notifications and
// answers get through. Nothing is read until the client has read the refusal, so a client that
// reads nothing can't fill the memory either.
const (
	maxWaiting      = 10_000   // requests
	maxWaitingBytes = 32 << 20 // of all of them; one may be larger
)

// busy is among the codes that JSON-RPC leaves to servers.
const busy = -32000

// input is what a client writes, a message in a line. What is no message, or too long, is
// answered with an error, and not handed on: the connection goes on.
type input struct {
	*client
	r     *bufio.Reader
	rest  []byte                 // of what is handed on
	after func(m message) []byte // what is handed on after a message
}

// message is one as the SDK reads it.
type message struct {
	JSONRPC string            `json:"jsonrpc"`
	ID      *json.RawMessage  `json:"id,omitempty"`
	Method  string            `json:"method,omitempty"`
	Params  json.RawMessage   `json:"params,omitempty"`
	Result  json.RawMessage   `json:"result,omitempty"`
	Error   *acp.RequestError `json:"error,omitempty"`
}

func newInput(c *client, in io.Reader, after func(message) []byte) *input {
	return &input{client: c, r: bufio.NewReaderSize(in, 64*1024), after: after}
}

// Read implements [io.Reader].
func (i *input) Read(p []byte) (int, error) {
	<-i.ready
	for len(i.rest) == 0 {
		line, complete, err := i.line()
		if err != nil {
			return 0, err
		}
		i.rest = i.accept(line, complete)
	}
	n := copy(p, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}

// line reads a line, or the beginning of one that is too long.
func (i *input) line() (line []byte, complete bool, err error) {
	complete = true
	for {
		part, err := i.r.ReadSlice('\n')
		if complete = complete && len(line)+len(part) <= maxMessage; complete {
			line = append(line, part...)
		}
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return line, complete, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		}
	}
}

// accept returns what is handed on of a line.
func (i *input) accept(line []byte, complete bool) []byte {
	var m message
	switch {
	case !complete:
		i.refuse(idOf(line), -32600, fmt.Sprintf("a message may have %d MB, and this one has more: send links to files in place of their content", maxMessage/1_000_000))
		return nil
	case len(bytes.TrimSpace(line)) == 0:
		return nil
	}
	if err := json.Unmarshal(line, &m); err != nil {
		i.refuse(nil, -32700, termtext.OneLine("a message is a JSON object of JSON-RPC 2.0 in one line, and this is none: "+err.Error(), termtext.MaxLine))
		return nil
	}
	if m.ID == nil && m.Method == "" {
		i.refuse(nil, -32600, "a message has a method or an id, and this one has none")
		return nil
	}
	if m.ID != nil && m.Method != "" {
		if n := i.out.full(len(line)); n > 0 {
			i.refuse(*m.ID, busy, fmt.Sprintf("%d requests wait for their answers: send more when some are answered", n))
			return nil
		}
		i.out.expect(*m.ID, len(line))
	}
	return append(bytes.TrimSpace(line), append([]byte("\n"), i.after(m)...)...)
}

// refuse answers what can't be handed on.
func (i *input) refuse(id json.RawMessage, code int, text string) {
	i.log.Warn("a message of the editor was refused", "reason", text)
	if id == nil {
		id = json.RawMessage("null")
	}
	answer, err := json.Marshal(struct {
		JSONRPC string            `json:"jsonrpc"`
		ID      json.RawMessage   `json:"id"`
		Error   *acp.RequestError `json:"error"`
	}{"2.0", id, &acp.RequestError{Code: code, Message: text}})
	if err == nil {
		i.out.expect(id, 0)
		_, err = i.out.Write(append(answer, '\n'))
	}
	if err != nil {
		i.log.Debug("refusing a message", "err", err)
	}
}

// idOf returns the id of a message of which only the beginning is there; nil means it does
// not come before the rest.
func idOf(beginning []byte) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(beginning))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil
		}
		if key == "id" {
			return value
		}
	}
	return nil
}
