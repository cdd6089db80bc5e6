package acpserver

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestUnansweredRequests: a client may leave so many requests without an answer, by number
// and by bytes. One more is refused, a notification gets through, and with an answer there
// is room again.
func TestUnansweredRequests(t *testing.T) {
	for _, tt := range []struct{ requests, size int }{{maxWaiting, 0}, {3, 9_000_000}} {
		read, out := io.Pipe()
		defer out.Close()
		c := newClient(t.Context(), New(Options{}), out)
		defer c.shut()
		defer c.out.close()
		close(c.ready)
		refused := make(chan string, 1)
		go func() {
			line, _ := bufio.NewReader(read).ReadString('\n')
			refused <- line
			_, _ = io.Copy(io.Discard, read)
		}()
		handed := func(lines ...string) int {
			t.Helper()
			all, err := io.ReadAll(newInput(c, strings.NewReader(strings.Join(lines, "")), func(message) []byte { return nil }))
			if err != nil {
				t.Fatal(err)
			}
			return bytes.Count(all, []byte("\n"))
		}
		request := func(id int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x","params":{"x":"%s"}}`+"\n", id, strings.Repeat("x", tt.size))
		}
		for id := 1; id <= tt.requests; id++ {
			if handed(request(id)) != 1 {
				t.Fatalf("request %d of %d bytes is refused", id, tt.size)
			}
		}
		if n := handed(request(0), `{"jsonrpc":"2.0","method":"session/cancel"}`+"\n"); n != 1 {
			t.Errorf("%d messages are handed on, want the notification", n)
		}
		if line, want := <-refused, fmt.Sprintf(`"id":0,"error":{"code":-32000,"message":"%d requests wait`, tt.requests); !strings.Contains(line, want) {
			t.Errorf("%s, want %s", line, want)
		}
		if _, err := c.out.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n")); err != nil {
			t.Fatal(err)
		}
		if handed(request(0)) != 1 {
			t.Error("there is no room behind an answer")
		}
	}
}
