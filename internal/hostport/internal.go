package hostport

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Internal reports whether hostport is an address of this machine or its
// network, or a name for this machine: what a rule for every host does not mean.
func Internal(hostport string) bool {
	host, _, err := Split(hostport)
	if err != nil {
		return true
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return InternalAddr(addr)
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// InternalAddr reports whether an address is one of this machine or network. Those of
// this machine are all that its interfaces have, also public ones.
func InternalAddr(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() || slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return true
	}
	if v4, ok := embedded(a); ok && InternalAddr(v4) {
		return true
	}
	own, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(own, func(n net.Addr) bool {
		prefix, err := netip.ParsePrefix(n.String())
		return err != nil || prefix.Addr().Unmap() == a
	})
}

// special are further addresses that no host of the internet has: RFC 6890 and the registries
// that it names.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // of a provider's network
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("fec0::/10"),
	netip.MustParsePrefix("64:ff9b:1::/48"), // translated as a network likes: RFC 8215
	netip.MustParsePrefix("2001::/32"),      // a tunnel to what is behind somebody's router: RFC 4380
}

// embedded returns the IPv4 address to which a gateway translates or tunnels an IPv6 address: NAT64
// (RFC 6052), 6to4 (RFC 3056), ISATAP (RFC 5214), and the compatible and translated forms (RFC 4291, RFC 2765).
func embedded(a netip.Addr) (v4 netip.Addr, ok bool) {
	if !a.Is6() || a.Is4In6() {
		return v4, false
	}
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a), netip.MustParsePrefix("::/96").Contains(a),
		netip.MustParsePrefix("::ffff:0:0:0/96").Contains(a), b[8]&^2 == 0 && [3]byte(b[9:12]) == [3]byte{0, 0x5e, 0xfe}:
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case netip.MustParsePrefix("2002::/16").Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return v4, false
}
