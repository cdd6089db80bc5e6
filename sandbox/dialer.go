package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Dialer connects to hosts that may be reached. The sandbox's proxy and the tools that call
// hosts share it.
type Dialer struct {
	Allow NetworkFunc // required

	// Resolve returns the addresses of a name; nil means the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	// dial connects; nil means the real one. Without Resolve it is given names.
	dial dialFunc
}

// dialFunc is [net.Dialer.DialContext].
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// RefusedError says that a host may not be reached.
type RefusedError struct{ err error }

func (e *RefusedError) Error() string { return e.err.Error() }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.err }

// dialTime is how long a connection may take.
const dialTime = 30 * time.Second

// DialContext connects to addr, host:port, as [net.Dialer.DialContext] does. An address that
// may not be reached is a [*RefusedError].
func (d *Dialer) DialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	return d.connect(ctx, addr)
}

// connect asks whether hostport is allowed, resolves it once, and dials the
// result: a name that later resolves otherwise leads nowhere else.
func (d *Dialer) connect(ctx context.Context, hostport string) (net.Conn, error) {
	host, port, err := splitHostPort(hostport)
	if err != nil {
		return nil, &RefusedError{err}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	name := net.JoinHostPort(host, port)
	if err := d.Allow(ctx, name, ""); err != nil {
		return nil, &RefusedError{err}
	}
	dial := d.dial
	switch {
	case dial == nil:
		dial = (&net.Dialer{Timeout: dialTime}).DialContext
	case d.Resolve == nil:
		return dial(ctx, "tcp", name)
	}
	var addrs []netip.Addr
	literal := false
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs, literal = []netip.Addr{addr}, true
	} else if addrs, err = d.resolve(ctx, host); err != nil {
		return nil, err
	}
	err = fmt.Errorf("%s has no address", host)
	for _, addr := range addrs {
		addr = addr.Unmap().WithZone("")
		// A name from outside must not lead to what only this machine and its
		// network reach. Whoever means that allows the address.
		if !literal && internal(addr) && host != "localhost" {
			err = &RefusedError{fmt.Errorf("%s leads to %s, an address of this network: allow %s if that is meant", host, addr, net.JoinHostPort(addr.String(), port))}
			continue
		}
		target := net.JoinHostPort(addr.String(), port)
		if !literal {
			if err = d.Allow(ctx, target, name); err != nil {
				err = &RefusedError{fmt.Errorf("%s leads to %s: %w", host, addr, err)}
				continue
			}
		}
		var conn net.Conn
		if conn, err = dial(ctx, "tcp", target); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (d *Dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if d.Resolve != nil {
		return d.Resolve(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}
