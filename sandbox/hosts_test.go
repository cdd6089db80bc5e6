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

// TestHostForm holds that rules see one form of a host, however a command writes it.
func TestHostForm(t *testing.T) {
	for written, want := range map[string]string{
		"example.com:80":         "example.com:80",
		"EXAMPLE.com.:0080":      "example.com:80",
		"127.0.0.1:019502":       "127.0.0.1:19502",
		"[::ffff:127.0.0.1]:80":  "127.0.0.1:80",
		"[0:0:0:0:0:0:0:1]:080":  "[::1]:80",
		"[fe80::1%eth0]:80":      "[fe80::1]:80",
		"example.com":            "",
		"example.com:0":          "",
		"example.com:+80":        "",
		"example.com: 80":        "",
		"example.com:65616":      "", // 80, in 16 bits
		"127.1:80":               "",
		"0x7f000001:80":          "",
		"127.0.0.01:80":          "",
		"examp\u217ee.com:80":    "",
		"example.com\x00.org:80": "",
		"user@example.com:80":    "",
	} {
		host, port, err := splitHostPort(written)
		got := net.JoinHostPort(host, port)
		if err != nil {
			got = ""
		}
		if got != want {
			t.Errorf("%q is %q to a rule, want %q", written, got, want)
		}
	}
}

// TestInternalAddresses holds that every address of this machine is one that a rule for
// all hosts does not mean.
func TestInternalAddresses(t *testing.T) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range own {
		if host := netip.MustParsePrefix(n.String()).Addr().String(); !Internal(net.JoinHostPort(host, "80")) {
			t.Errorf("%s is not an address of this machine", host)
		}
	}
	for host, want := range map[string]bool{"169.254.169.254": true, "100.64.1.1": true, "fd00::1": true, "203.0.113.200": false, "2001:db8::1": false} {
		if got := Internal(net.JoinHostPort(host, "80")); got != want {
			t.Errorf("internal(%s) is %v", host, got)
		}
	}
}

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
