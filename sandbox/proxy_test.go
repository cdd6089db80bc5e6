package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
)

// TestProxyEnds holds that a session's end does not wait for a server that does
// not answer.
func TestProxyEnds(t *testing.T) {
	for _, request := range []string{"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		asked := make(chan struct{})
		p := serveProxy(l, func(context.Context, string, string) error { return nil }, func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				if req, err := http.ReadRequest(bufio.NewReader(far)); err == nil && req.URL.Path == "/" {
					close(asked)
				}
			}()
			return near, nil
		})
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, request)
		if request[0] == 'C' {
			if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("CONNECT: %v, %v", res, err)
			}
		} else {
			<-asked
		}
		p.close()
	}
}
