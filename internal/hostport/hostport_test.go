package hostport_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/agentworker/worker/internal/hostport"
	"github.com/agentworker/worker/permission/glob"
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
		got, _ := hostport.Canonical(written)
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
		if host := netip.MustParsePrefix(n.String()).Addr().String(); !hostport.Internal(net.JoinHostPort(host, "80")) {
			t.Errorf("%s is not an address of this machine", host)
		}
	}
	for host, want := range map[string]bool{"169.254.169.254": true, "100.64.1.1": true, "fd00::1": true, "203.0.113.200": false, "2001:db8::1": false,
		"::ffff:127.0.0.1": true, "::127.0.0.1": true, "64:ff9b::10.0.0.1": true, "2002:7f00:1::": true, "64:ff9b::203.0.113.200": false,
		"64:ff9b:1::203.0.113.200": true, "::ffff:0:127.0.0.1": true, "::ffff:0:203.0.113.200": false, "2001:0:cb00:71c8::f5ff:fffe": true, "2001::1": true,
		"2001:db8::5efe:10.0.0.1": true, "2001:db8::200:5efe:169.254.169.254": true, "2001:db8::5efe:203.0.113.200": false,
	} {
		if got := hostport.Internal(net.JoinHostPort(host, "80")); got != want {
			t.Errorf("Internal(%s) is %v", host, got)
		}
	}
}

// TestPattern holds that a rule is about the hosts that its words name, in whatever spelling.
func TestPattern(t *testing.T) {
	for pattern, hosts := range map[string]map[string]bool{
		"Example.COM:443":         {"example.com:443": true, "example.com:80": false},
		"example.com.:0443":       {"example.com:443": true},
		"example.com":             {"example.com:443": true, "example.com:80": true, "a.example.com:80": false, "example.com.evil.org:80": false},
		"*.Example.com":           {"a.example.com:80": true, "example.com:80": false, "a.example.com.evil.org:80": false},
		"B\u00fccher.example:443": {"xn--bcher-kva.example:443": true},
		"*.b\u00fccher.example:*": {"a.xn--bcher-kva.example:443": true},
		"[::1]:80":                {"[::1]:80": true, "1:80": false},
		"[0:0:0:0:0:0:0:1]:*":     {"[::1]:80": true},
		"2001:DB8::1":             {"[2001:db8::1]:80": true},
		"[::ffff:10.0.0.1]:22":    {"10.0.0.1:22": true},
		"10.0.0.1":                {"10.0.0.1:22": true, "10.0.0.11:22": false},
		"10.*":                    {"10.0.0.1:22": true, "110.0.0.1:22": false},
		"*":                       {"example.com:1": true},
		"*:22":                    {"example.com:22": true, "[::1]:22": true, "a:220": false},
		"{a,B}.example:80":        {"b.example:80": true},
		"!Example.com:80":         {"example.com:80": false, "b.example:80": true},
		"unix:/run//x/../y":       {"unix:/run/y": true},
		"unix:/run/*":             {"unix:/run/a/b": true},
		"unix:/Run/X":             {"unix:/Run/X": true, "unix:/run/x": false},
		"0x7f.1:80":               nil,
		"127.1:80":                nil,
		"example.com:https":       nil,
		"example.com:65616":       nil,
		"example.com:0":           nil,
		"http://example.com":      nil,
		"10.0.0.0/8":              nil,
		"two words:80":            nil,
		":80":                     nil,
	} {
		form, err := hostport.Pattern(pattern)
		if (err == nil) != (hosts != nil) {
			t.Errorf("%q is %q, %v", pattern, form, err)
			continue
		}
		for host, want := range hosts {
			if g, err := glob.Compile(form); err != nil || g.Match(host) != want {
				t.Errorf("%q, as %q: %s is %v, %v", pattern, form, host, !want, err)
			}
		}
	}
}
