package tcpline_test

import (
	"io"
	"net"
	"testing"

	"github.com/agentworker/worker/internal/tcpline"
)

// TestLine: what is sent over a line arrives. While it is cut nothing arrives, and neither
// side notices. Once it is joined the old connections are closed, and new ones work.
func TestLine(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // an error: the line has closed it
			}()
		}
	}()
	l, err := tcpline.Listen(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	echo := func(c net.Conn, text string) {
		t.Helper()
		got := make([]byte, len(text))
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
			t.Fatalf("%q, %v, want %q", got, err, text)
		}
	}
	first := dial()
	echo(first, "there")
	dropped := make(chan string, 1)
	l.Cut(func(sent []byte) { dropped <- string(sent) })
	if _, err := io.WriteString(first, "lost"); err != nil {
		t.Fatal(err)
	}
	if got := <-dropped; got != "lost" {
		t.Errorf("dropped %q", got)
	}
	l.Join()
	if got, err := io.ReadAll(first); len(got) > 0 {
		t.Errorf("read %q, %v from a connection that was cut", got, err)
	}
	echo(dial(), "there again")
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
