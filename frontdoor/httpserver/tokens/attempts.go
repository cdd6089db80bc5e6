package tokens

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// maxWrong is how many wrong tokens an address may send within attemptTime.
	maxWrong    = 20
	attemptTime = time.Minute

	// maxAddresses bounds the addresses that are counted one by one. Further ones share a
	// count.
	maxAddresses = 1000
)

// Attempts counts the wrong tokens of each address. It does not affect right ones: they are
// accepted whatever else comes from the same address. The zero value is ready to use.
type Attempts struct {
	mu    sync.Mutex
	byWho map[netip.Addr]*attempts
}

type attempts struct {
	wrong int
	until time.Time // when they are forgotten
}

// Wrong notes a wrong token from an address, as [net/http.Request] has it. It returns 0 as
// long as the address may try again, else for how long it is to wait. first says that it
// has just come to that.
func (a *Attempts) Wrong(remoteAddr string, now time.Time) (wait time.Duration, first bool) {
	who := network(remoteAddr)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byWho == nil {
		a.byWho = make(map[netip.Addr]*attempts)
	}
	if a.byWho[who] == nil && len(a.byWho) >= maxAddresses {
		a.forget(now)
	}
	if a.byWho[who] == nil && len(a.byWho) >= maxAddresses {
		who = netip.Addr{}
	}
	of := a.byWho[who]
	if of == nil || !now.Before(of.until) {
		of = &attempts{until: now.Add(attemptTime)}
		a.byWho[who] = of
	}
	of.wrong++
	if of.wrong <= maxWrong {
		return 0, false
	}
	return of.until.Sub(now), of.wrong == maxWrong+1
}

// forget drops the counts whose time is over. The caller holds a.mu.
func (a *Attempts) forget(now time.Time) {
	for who, of := range a.byWho {
		if !now.Before(of.until) {
			delete(a.byWho, who)
		}
	}
}

// network is what counts as one address: with IPv6 a network of 64 bits, which one machine
// usually has for itself. The zero Addr stands for all that is no address.
func network(remoteAddr string) netip.Addr {
	host, _, err := net.SplitHostPort(remoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		prefix, err := ip.Prefix(64)
		if err != nil {
			return netip.Addr{}
		}
		ip = prefix.Addr()
	}
	return ip
}
