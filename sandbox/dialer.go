package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/agentworker/worker/internal/hostport"
)

// Dialer connects to hosts that may be reached. The sandbox's proxy and the tools that call
// hosts share it.
type Dialer struct {
	Allow NetworkFunc // required

	// Resolve returns the addresses of a name; nil means the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)

	// Alias returns the name that a name is an alias of; nil means the system's resolver, or
	// that there are no aliases where Resolve is set.
	Alias func(ctx context.Context, host string) (string, error)

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

// connect asks whether target is allowed, resolves it once, and dials the
// result: a name that later resolves otherwise leads nowhere else.
func (d *Dialer) connect(ctx context.Context, target string) (net.Conn, error) {
	host, port, err := hostport.Split(target)
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
	} else if err := d.judgeAlias(ctx, host, port); err != nil {
		return nil, err
	}
	err = fmt.Errorf("%s has no address", host)
	for _, addr := range addrs {
		addr = addr.Unmap().WithZone("")
		// A name from outside must not lead to what only this machine and its
		// network reach. Whoever means that allows the address.
		if !literal && hostport.InternalAddr(addr) && host != "localhost" {
			err = &RefusedError{fmt.Errorf("%s leads to %s, an address of this network: allow %s if that is meant", host, addr, net.JoinHostPort(addr.String(), port))}
			continue
		}
		at := net.JoinHostPort(addr.String(), port)
		if !literal {
			if err = d.Allow(ctx, at, name); err != nil {
				err = &RefusedError{fmt.Errorf("%s leads to %s: %w", host, addr, err)}
				continue
			}
		}
		var conn net.Conn
		if conn, err = dial(ctx, "tcp", at); err == nil {
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

// judgeAlias asks whether the name that host is an alias of may be reached, if it is one.
func (d *Dialer) judgeAlias(ctx context.Context, host, port string) error {
	look := d.Alias
	switch {
	case look == nil && d.Resolve != nil:
		return nil
	case look == nil:
		look = net.DefaultResolver.LookupCNAME
	}
	name, err := look(ctx, host)
	if err != nil {
		return err
	}
	of, _, err := hostport.Split(net.JoinHostPort(name, port))
	switch {
	case err != nil:
		return &RefusedError{fmt.Errorf("%s is an alias of what is no host: %w", host, err)}
	case of == host:
		return nil
	}
	if err := d.Allow(ctx, net.JoinHostPort(of, port), net.JoinHostPort(host, port)); err != nil {
		return &RefusedError{fmt.Errorf("%s is an alias of %s: %w", host, of, err)}
	}
	return nil
}
