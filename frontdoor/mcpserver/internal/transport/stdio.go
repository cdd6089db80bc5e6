// Package transport carries MCP messages between a host and the server, and ends
// in order.
package transport

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds a message from the host, in bytes.
const maxLine = 16 << 20

// Stdio is the transport of MCP on stdin and stdout: one JSON message a line.
// Unlike the SDK's it goes on after an invalid line: it logs the line, and refuses
// it if it has an id. JSON-RPC batches, which MCP has given up, are invalid. Close
// never waits for a host that does not read, nor for a read that can't be
// interrupted, such as a terminal's.
type Stdio struct {
	In     io.ReadCloser // closed with the connection
	Out    io.Writer
	Logger *slog.Logger // nil discards them
}

var _ mcp.Transport = (*Stdio)(nil)

// Connect implements [mcp.Transport].
func (l *Stdio) Connect(context.Context) (mcp.Connection, error) {
	c := &stdioConn{
		in:       l.In,
		out:      l.Out,
		log:      cmp.Or(l.Logger, slog.New(slog.DiscardHandler)),
		incoming: make(chan incoming),
		outgoing: make(chan outgoing),
		closed:   make(chan struct{}),
	}
	// Both end with the connection. One in a read or write that can't be interrupted
	// ends with that, at the latest with the process.
	go c.readLines()
	go c.writeLines()
	return c, nil
}

type stdioConn struct {
	in       io.ReadCloser
	out      io.Writer
	log      *slog.Logger
	incoming chan incoming
	outgoing chan outgoing

	closeOnce sync.Once
	closed    chan struct{}
	closeErr  error
}

// incoming is a line, or the error instead of one.
type incoming struct {
	line []byte
	err  error
}

type outgoing struct {
	line []byte
	done chan<- error // buffered: one
}

var errTooLong = fmt.Errorf("it is longer than %d bytes", maxLine)

// SessionID implements [mcp.Connection]. The connection is its one session.
func (c *stdioConn) SessionID() string { return "" }

// Read implements [mcp.Connection].
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-c.closed:
			return nil, io.EOF
		case in := <-c.incoming:
			if in.err != nil && !errors.Is(in.err, errTooLong) {
				return nil, in.err
			}
			msg, err := decode(in)
			if err == nil {
				return msg, nil
			}
			if err := c.refuse(ctx, in.line, err); err != nil {
				return nil, err
			}
		}
	}
}

func decode(in incoming) (jsonrpc.Message, error) {
	if in.err != nil {
		return nil, in.err
	}
	if !json.Valid(in.line) { // DecodeMessage ignores what follows a message
		return nil, errors.New("it is not one JSON value")
	}
	return jsonrpc.DecodeMessage(in.line)
}

// refuse answers an invalid line if it has an id.
func (c *stdioConn) refuse(ctx context.Context, line []byte, why error) error {
	c.log.Warn("passing over a line that is no MCP message", "bytes", len(line), "err", why)
	var head struct {
		ID any `json:"id"`
	}
	if json.Unmarshal(line, &head) != nil {
		return nil
	}
	id, err := jsonrpc.MakeID(head.ID)
	if err != nil || !id.IsValid() {
		return nil
	}
	return c.Write(ctx, &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidRequest, Message: "invalid request: " + why.Error(),
	}})
}

// Write implements [mcp.Connection]. A line is written in full or not at all, even if ctx
// ends meanwhile.
func (c *stdioConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	select {
	case c.outgoing <- outgoing{append(line, '\n'), done}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.closed:
		return mcp.ErrConnectionClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.closed:
		return mcp.ErrConnectionClosed
	}
}

// Close implements [mcp.Connection].
func (c *stdioConn) Close() error {
	c.closeOnce.Do(func() {
		close(c.closed)
		c.closeErr = c.in.Close()
	})
	return c.closeErr
}

func (c *stdioConn) writeLines() {
	for {
		select {
		case w := <-c.outgoing:
			_, err := c.out.Write(w.line)
			w.done <- err
		case <-c.closed:
			return
		}
	}
}

func (c *stdioConn) readLines() {
	r := bufio.NewReaderSize(c.in, 64<<10)
	for {
		line, err := readLine(r)
		if line = bytes.TrimSpace(line); len(line) > 0 || errors.Is(err, errTooLong) {
			in := incoming{line: line}
			if errors.Is(err, errTooLong) {
				in.err, err = err, nil
			}
			if !c.deliver(in) {
				return
			}
		}
		if err != nil {
			c.deliver(incoming{err: err})
			return
		}
	}
}

func (c *stdioConn) deliver(in incoming) bool {
	select {
	case c.incoming <- in:
		return true
	case <-c.closed:
		return false
	}
}

// readLine reads up to a line's end. It reads a line that is too long to its end, and
// returns only errTooLong.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && err == nil:
			return nil, errTooLong
		default:
			return line, err
		}
	}
}
