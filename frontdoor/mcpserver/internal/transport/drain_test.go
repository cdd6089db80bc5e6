package transport

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fakeConn is a host of which a test says what it sends.
type fakeConn struct {
	messages chan jsonrpc.Message // closed: the end of the input
	deaf     bool                 // what is written fails
	closed   bool
}

func (f *fakeConn) Connect(context.Context) (mcp.Connection, error) { return f, nil }
func (f *fakeConn) SessionID() string                               { return "" }
func (f *fakeConn) Close() error                                    { f.closed = true; return nil }

func (f *fakeConn) Write(context.Context, jsonrpc.Message) error {
	if f.deaf {
		return io.ErrClosedPipe
	}
	return nil
}

func (f *fakeConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg, ok := <-f.messages:
		if !ok {
			return nil, io.ErrUnexpectedEOF
		}
		return msg, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestDrain: the end of the connection cancels the calls, and shows once they
// are answered, or the host has had its time to read the answers.
func TestDrain(t *testing.T) {
	id, err := jsonrpc.MakeID("1")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		method string
		stop   bool          // end the context, not the input
		answer time.Duration // after the calls are cancelled; 0 means never
		want   time.Duration
		closed bool
		err    error
	}{
		{"answered in time", "tools/call", false, time.Second, time.Second, false, io.ErrUnexpectedEOF},
		{"answered in time, told to end", "tools/call", true, time.Second, time.Second, false, io.EOF},
		{"never answered", "tools/call", false, 0, grace, true, io.ErrUnexpectedEOF},
		{"never answered, told to end", "tools/call", true, 0, grace, true, io.EOF},
		{"a subscription", "subscriptions/listen", false, 0, 0, false, io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				calls, cancelCalls := context.WithCancel(context.Background())
				fake := &fakeConn{messages: make(chan jsonrpc.Message, 1)}
				conn, err := (&Draining{fake, ctx, cancelCalls, new(GivenUp), slog.New(slog.DiscardHandler)}).Connect(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				fake.messages <- &jsonrpc.Request{ID: id, Method: tt.method}
				if _, err := conn.Read(t.Context()); err != nil {
					t.Fatal(err)
				}
				go func() {
					<-calls.Done()
					if tt.answer > 0 {
						<-time.After(tt.answer) // the bubble's clock
						if err := conn.Write(t.Context(), &jsonrpc.Response{ID: id}); err != nil {
							t.Error(err)
						}
					}
				}()
				if tt.stop {
					stop()
				} else {
					close(fake.messages)
				}
				start := time.Now()
				_, err = conn.Read(context.WithoutCancel(t.Context()))
				if !errors.Is(err, tt.err) || time.Since(start) != tt.want || fake.closed != tt.closed || calls.Err() == nil {
					t.Errorf("Read: %v after %s, closed %v; want %v after %s, closed %v", err, time.Since(start), fake.closed, tt.err, tt.want, tt.closed)
				}
			})
		})
	}
}

// TestDrainBroken: after a write has failed the SDK writes nothing more, and so
// no answer is waited for, whichever comes first.
func TestDrainBroken(t *testing.T) {
	id, err := jsonrpc.MakeID("1")
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []string{"the write", "the end"} {
		synctest.Test(t, func(t *testing.T) {
			fake := &fakeConn{messages: make(chan jsonrpc.Message, 1), deaf: true}
			conn, err := (&Draining{fake, t.Context(), func() {}, new(GivenUp), slog.New(slog.DiscardHandler)}).Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			fake.messages <- &jsonrpc.Request{ID: id, Method: "tools/call"}
			if _, err := conn.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			progress := func() {
				if err := conn.Write(t.Context(), &jsonrpc.Request{Method: "notifications/progress"}); err == nil {
					t.Errorf("%s first: the write went well", first)
				}
			}
			if first == "the write" {
				progress()
			} else {
				go func() { synctest.Wait(); progress() }()
			}
			close(fake.messages)
			start := time.Now()
			if _, err := conn.Read(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) || time.Since(start) > 0 {
				t.Errorf("%s first: Read: %v after %s", first, err, time.Since(start))
			}
		})
	}
}
