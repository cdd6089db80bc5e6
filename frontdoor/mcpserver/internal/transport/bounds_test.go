package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// host is one whose messages a test writes to in, and which reads from out.
type host struct {
	mcp.Connection
	in  *io.PipeWriter
	out *io.PipeReader
}

func connect(t *testing.T) *host {
	t.Helper()
	in, write := io.Pipe()
	read, out := io.Pipe()
	log := slog.New(slog.DiscardHandler)
	conn, err := (&Draining{&Stdio{In: in, Out: out, Logger: log}, t.Context(), func() {}, new(GivenUp), log}).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); _ = out.Close(); _ = write.Close() })
	return &host{conn, write, read}
}

func request(id, size int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"x":"%s"}}`+"\n", id, strings.Repeat("x", size))
}

// TestHostThatReadsNothing: it may send so many requests, by number and by bytes,
// and then nothing more is read of it.
func TestHostThatReadsNothing(t *testing.T) {
	largeID := func(id, size int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d%s","method":"ping"}`+"\n", id, strings.Repeat("x", size))
	}
	largeMethod := func(id, size int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s"}`+"\n", id, strings.Repeat("x", size))
	}
	for _, tt := range []struct {
		size, requests int
		request        func(id, size int) string
	}{
		{0, maxPending, request},
		{1 << 20, maxPendingBytes >> 20, request},
		{1 << 20, maxPendingBytes >> 20, largeID},
		{1 << 20, maxPendingBytes >> 20, largeMethod},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := connect(t)
			var sent, seen atomic.Int64
			var both sync.WaitGroup
			both.Go(func() {
				for id := 1; ; id++ {
					if _, err := io.WriteString(h.in, tt.request(id, tt.size)); err != nil {
						return
					}
					sent.Add(1)
				}
			})
			both.Go(func() {
				for {
					if _, err := h.Read(context.Background()); err != nil {
						return
					}
					seen.Add(1)
				}
			})
			synctest.Wait()
			if got := seen.Load(); got > int64(tt.requests) || got < int64(tt.requests)/2 {
				t.Errorf("%d requests of %d bytes were taken, want up to %d", got, tt.size, tt.requests)
			}
			// Besides, there is a refusal that nobody reads, and the content of the input's
			// buffer.
			if got := sent.Load() - seen.Load(); got > 3000 || tt.size > 0 && got > 4 {
				t.Errorf("%d more were read", got)
			}
			_ = h.Close()
			both.Wait()
		})
	}
}

// TestNotificationsOfHostThatReadsNothing: what it sends besides requests is read up to a
// bound while it does not take an answer, and on when it does.
func TestNotificationsOfHostThatReadsNothing(t *testing.T) {
	for _, size := range []int{0, 1 << 20} {
		synctest.Test(t, func(t *testing.T) {
			h := connect(t)
			id, err := jsonrpc.MakeID(float64(1))
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			all.Go(func() {
				if err := h.Write(t.Context(), &jsonrpc.Response{ID: id, Result: []byte("{}")}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			line := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"x":"%s"}}`+"\n", strings.Repeat("x", size))
			most := int64(maxUnread/(messageSize+size) + 1)
			var seen atomic.Int64
			all.Go(func() {
				for range 2 * most {
					if _, err := io.WriteString(h.in, line); err != nil {
						t.Error(err)
					}
				}
			})
			all.Go(func() {
				for {
					if _, err := h.Read(context.Background()); err != nil {
						return
					}
					seen.Add(1)
				}
			})
			synctest.Wait()
			if got := seen.Load(); got > most || got < most/2 {
				t.Errorf("%d notifications of %d bytes were taken, want up to %d", got, size, most)
			}
			if _, err := bufio.NewReader(h.out).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := seen.Load(); got != 2*most {
				t.Errorf("%d notifications were taken once the host had its answer, want %d", got, 2*most)
			}
			_ = h.Close()
			all.Wait()
		})
	}
}

// TestFullQueue: a request too many is refused, cancellations and answers of the
// host get through, and with an answer there is room again.
func TestFullQueue(t *testing.T) {
	h := connect(t)
	lines := bufio.NewReader(h.out)
	send := func(text string) {
		t.Helper()
		if _, err := io.WriteString(h.in, text); err != nil {
			t.Error(err)
		}
	}
	next := func() jsonrpc.Message {
		t.Helper()
		msg, err := h.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return msg
	}
	go func() {
		for id := 1; id <= maxPending; id++ {
			send(request(id, 0))
		}
	}()
	for range maxPending {
		next()
	}
	refused := make(chan string, 2)
	go func() {
		line, _ := lines.ReadString('\n')
		refused <- line
	}()
	go func() {
		send(request(maxPending+1, 0))
		send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}` + "\n")
		send(`{"jsonrpc":"2.0","id":3,"result":{}}` + "\n")
	}()
	if req, ok := next().(*jsonrpc.Request); !ok || req.Method != "notifications/cancelled" {
		t.Errorf("%+v, want the cancellation", req)
	}
	if res, ok := next().(*jsonrpc.Response); !ok {
		t.Errorf("%+v, want the answer", res)
	}
	if line := <-refused; !strings.Contains(line, `"id":10001`) || !strings.Contains(line, "10000 requests wait") {
		t.Errorf("%s", line)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	id, err := jsonrpc.MakeID(float64(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Write(t.Context(), &jsonrpc.Response{ID: id, Result: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	go send(request(maxPending+2, 0))
	if req, ok := next().(*jsonrpc.Request); !ok || req.Method != "tools/call" {
		t.Errorf("%+v, want the request that there is room for", req)
	}
}
