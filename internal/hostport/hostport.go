// Package hostport has the one form in which rules see a host and a port, and tells this machine
// and its network from the internet.
package hostport

import (
	"fmt"
	"net"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/agentworker/worker/permission/glob"
)

// Socket begins the value of a socket of this machine: "unix:/run/docker.sock".
const Socket = "unix:"

// Canonical returns host:port in the form that rules see. A name is in lower case without a dot
// at its end, an address in its shortest form, a port without zeros before it. An error says
// what is no host.
func Canonical(hostport string) (string, error) {
	host, port, err := Split(hostport)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(host, port), nil
}

// Split is [Canonical] with the host and the port apart.
func Split(hostport string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(hostport)
	if err != nil {
		return "", "", err
	}
	if port, err = canonicalPort(port); err != nil {
		return "", "", fmt.Errorf("%q has no port", hostport)
	}
	if host, err = canonicalHost(host); err != nil {
		return "", "", fmt.Errorf("%q: %w", hostport, err)
	}
	return host, port, nil
}

func canonicalPort(port string) (string, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("%q is not a port", port)
	}
	return strconv.FormatUint(n, 10), nil
}

func canonicalHost(host string) (string, error) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().WithZone("").String(), nil
	}
	if host == "" || len(host) > 253 || strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-._") != "" {
		return "", fmt.Errorf("%q is not a host", host)
	}
	// "127.1" and "0x7f000001" are addresses to a resolver, and names to a rule.
	if last := host[strings.LastIndexByte(host, '.')+1:]; last == "" || last[0] >= '0' && last[0] <= '9' {
		return "", fmt.Errorf("%q is neither a name nor an address", host)
	}
	return host, nil
}

// globs are the characters with a meaning in patterns.
const globs = `*?[]{}()!+@|\`

// Pattern returns the pattern of a rule about hosts in the form of [Canonical]. A pattern without
// a port is about all ports. An error says why no host can match it.
func Pattern(pattern string) (string, error) {
	body := strings.TrimLeft(pattern, "!")
	bangs := pattern[:len(pattern)-len(body)]
	if at, ok := strings.CutPrefix(body, Socket); ok {
		if !strings.ContainsAny(at, globs) {
			at = path.Clean(at)
		}
		return bangs + Socket + at, nil
	}
	host, port, err := splitPattern(body)
	if err != nil {
		return "", fmt.Errorf("%q: %w", pattern, err)
	}
	if port == "" {
		return bangs + host, nil
	}
	return bangs + host + ":" + port, nil
}

// splitPattern returns the two parts of a pattern. The port is empty where a star
// at the end of the host includes it.
func splitPattern(body string) (host, port string, err error) {
	host, port = body, "*"
	if addr, err := netip.ParseAddr(strings.Trim(body, "[]")); err == nil {
		return quoteAddr(addr), port, nil
	}
	if i := strings.LastIndexByte(body, ':'); i >= 0 {
		host, port = body[:i], body[i+1:]
	} else if strings.HasSuffix(body, "*") {
		port = ""
	}
	if strings.Trim(port, "0123456789") == "" && port != "" {
		if port, err = canonicalPort(port); err != nil {
			return "", "", err
		}
	} else if port != "" && !strings.ContainsAny(port, globs) {
		return "", "", fmt.Errorf("%q is not a port: a rule names it as a number", port)
	}
	if inside, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inside, "]") {
		if addr, err := netip.ParseAddr(strings.TrimSuffix(inside, "]")); err == nil {
			return quoteAddr(addr), port, nil
		}
	}
	labels := strings.Split(strings.ToLower(host), ".")
	for i, label := range labels {
		if strings.ContainsFunc(label, func(r rune) bool { return r >= 0x80 }) && !strings.ContainsAny(label, globs) {
			if labels[i], err = idna.Lookup.ToASCII(label); err != nil {
				return "", "", err
			}
		}
	}
	host = strings.TrimSuffix(strings.Join(labels, "."), ".")
	if strings.ContainsAny(host, globs) {
		return host, port, nil
	}
	host, err = canonicalHost(host)
	return host, port, err
}

// quoteAddr returns an address as a pattern that means itself.
func quoteAddr(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return addr.String()
	}
	return glob.Quote("[" + addr.String() + "]")
}

// Names reports whether the pattern of a rule speaks of hostport itself, and not of every host:
// it begins with the name or the number of one. For a socket it begins with "unix:".
func Names(pattern, hostport string) bool {
	if strings.HasPrefix(hostport, Socket) {
		return strings.HasPrefix(pattern, Socket)
	}
	if inside, ok := strings.CutPrefix(pattern, "["); ok { // an IPv6 address, not a class of characters
		at, _, _ := strings.Cut(inside, "]")
		_, err := netip.ParseAddr(at)
		return err == nil
	}
	return pattern != "" && !strings.ContainsRune("*?[{!(+@", rune(pattern[0]))
}
