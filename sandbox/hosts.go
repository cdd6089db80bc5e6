package sandbox

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Internal reports whether hostport is an address of this machine or its
// network, or a name for this machine: what a rule for every host does not mean.
func Internal(hostport string) bool {
	host, _, err := splitHostPort(hostport)
	if err != nil {
		return true
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return internal(addr)
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// internal reports whether an address is one of this machine or network. Those of
// this machine are all that its interfaces have, also public ones.
func internal(a netip.Addr) bool {
	if !a.IsGlobalUnicast() || a.IsPrivate() || sharedAddresses.Contains(a) {
		return true
	}
	own, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(own, func(n net.Addr) bool {
		prefix, err := netip.ParsePrefix(n.String())
		return err != nil || prefix.Addr().Unmap() == a
	})
}

var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10") // of a provider's network

// splitHostPort returns host and port in the form that rules see. A name is in lower
// case without a dot at its end, an address in its shortest form, a port without zeros
// before it.
func splitHostPort(hostport string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(hostport)
	if err != nil {
		return "", "", err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", "", fmt.Errorf("%q has no port", hostport)
	}
	port = strconv.FormatUint(n, 10)
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().WithZone("").String(), port, nil
	}
	if host == "" || len(host) > 253 || strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-._") != "" {
		return "", "", fmt.Errorf("%q is not a host", hostport)
	}
	// "127.1" and "0x7f000001" are addresses to a resolver, and names to a rule.
	if last := host[strings.LastIndexByte(host, '.')+1:]; last == "" || last[0] >= '0' && last[0] <= '9' {
		return "", "", fmt.Errorf("%q is neither a name nor an address", hostport)
	}
	return host, port, nil
}
