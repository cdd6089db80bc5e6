package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestResolvedAddress holds that an allowed name does not lead to a denied address. Each
// address is judged, not only the first.
func TestResolvedAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dialed := make(chan string, 2)
	p := serveProxy(l, func(_ context.Context, hostport, name string) error {
		if strings.HasPrefix(hostport, "203.0.113.") {
			return fmt.Errorf("%s, of %q, is denied", hostport, name)
		}
		return nil
	}, nil)
	defer p.close()
	p.dialer.dial = func(_ context.Context, _, addr string) (net.Conn, error) {
		dialed <- addr
		return nil, errors.New("nobody is there")
	}
	for addrs, want := range map[string]string{
		"203.0.113.1":                "refused",
		"203.0.113.1 198.51.100.7":   "198.51.100.7:80",
		"::ffff:203.0.113.1":         "refused",
		"10.0.0.1":                   "refused",
		"198.51.100.7 203.0.113.254": "198.51.100.7:80",
	} {
		p.dialer.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			var out []netip.Addr
			for _, a := range strings.Fields(addrs) {
				out = append(out, netip.MustParseAddr(a))
			}
			return out, nil
		}
		_, err := p.dialer.connect(t.Context(), "allowed.example:80")
		got := "refused"
		select {
		case got = <-dialed:
		default:
		}
		if got != want {
			t.Errorf("a name of %s: %s, want %s (%v)", addrs, got, want, err)
		}
	}
}

// TestAlias holds that a denied host is not reached by another name for it.
func TestAlias(t *testing.T) {
	for alias, want := range map[string]bool{"other.example.": true, "DENIED.example.": false, "allowed.example.": true, "a b": false} {
		d := &Dialer{
			Allow: func(_ context.Context, at, name string) error {
				if at == "denied.example:80" {
					return fmt.Errorf("%s, as %s, is denied", at, name)
				}
				return nil
			},
			Resolve: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("198.51.100.7")}, nil
			},
			Alias: func(context.Context, string) (string, error) { return alias, nil },
			dial:  func(context.Context, string, string) (net.Conn, error) { return nil, nil },
		}
		if _, err := d.connect(t.Context(), "allowed.example:80"); (err == nil) != want {
			t.Errorf("an alias of %q: %v", alias, err)
		}
	}
}
