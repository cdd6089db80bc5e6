package httpserver

import (
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/frontdoor/httpserver/certs"
	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// pageLinks is where whoever has a token gets a link to the page.
const pageLinks = "/v1/page/links"

// guard admits the requests that may be answered.
type guard struct {
	*Options
	page     *page.Page  // may be nil
	certs    *certs.Pair // may be nil
	attempts tokens.Attempts
}

// wrong counts a request that is not let in, if it has a token or a cookie. After too many
// from one address, further ones have to wait. Right tokens still count.
func (s *guard) wrong(header http.Header, r *http.Request) *caller.Error {
	_, noCookie := r.Cookie(page.CookieName(r.Host))
	if r.Header.Get("Authorization") == "" && noCookie != nil {
		return nil
	}
	wait, first := s.attempts.Wrong(r.RemoteAddr, time.Now())
	if wait == 0 {
		return nil
	}
	if first {
		s.Logger.Warn("too many wrong tokens came from an address", "from", r.RemoteAddr)
	}
	seconds := int(wait/time.Second) + 1
	header.Set("Retry-After", strconv.Itoa(seconds))
	return &caller.Error{
		Status: http.StatusTooManyRequests, Code: "too_many_attempts",
		Message: fmt.Sprintf("too many wrong tokens came from this address: try again in %d s, or with a right one at once", seconds),
	}
}

// admit returns who makes a request; the zero Identity is anyone. What comes over TLS may
// come from another machine: it has a named token, and the host is one of the certificate.
func (s *guard) admit(r *http.Request) (caller.Identity, *caller.Error) {
	if !s.namesUs(r) {
		return caller.Identity{}, &caller.Error{
			Status: http.StatusForbidden, Code: "forbidden_host",
			Message: fmt.Sprintf("the host %q is not this server: use localhost or 127.0.0.1, or over TLS a name of the certificate", r.Host),
		}
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if s.page != nil && reads && r.URL.Path == page.LoginPath {
		return caller.Identity{}, nil // the link may be on any page: it has a code
	}
	if err := sameOrigin(r); err != nil {
		return caller.Identity{}, &caller.Error{Status: http.StatusForbidden, Code: "forbidden_origin", Message: err.Error()}
	}
	if s.page != nil && (r.URL.Path == page.LoginPath || reads && strings.HasPrefix(r.URL.Path, page.AssetPath)) { // these tell nothing
		return caller.Identity{}, nil
	}
	if identity, ok := s.identify(r); ok && (r.TLS == nil || !identity.May(caller.Owner)) {
		return identity, nil
	}
	message := "send the header 'Authorization: Bearer TOKEN' with the token of this worker's state folder, or a named one"
	if r.TLS != nil {
		message = "send the header 'Authorization: Bearer TOKEN' with a named token: that of the state folder does not count over TLS"
	}
	return caller.Identity{}, &caller.Error{Status: http.StatusUnauthorized, Code: "unauthorized", Message: message}
}

// identify returns whose token a request has, or whose cookie.
func (s *guard) identify(r *http.Request) (caller.Identity, bool) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return caller.Identity{}, false
		}
		if subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) == 1 {
			return caller.OwnerIdentity, true
		}
		return s.Tokens.Find(token)
	}
	if s.page == nil || r.URL.Path == mcpPath || r.URL.Path == pageLinks { // hosts and new links want the token
		return caller.Identity{}, false
	}
	return s.page.Admit(r)
}

// namesUs reports whether a request was made for this server by a name that nobody else has
// a say in.
func (s *guard) namesUs(r *http.Request) bool {
	if r.TLS != nil {
		return s.certs.Names(hostOf(r.Host))
	}
	return loopbackHost(r.Host)
}

// wantsDocument reports whether a request is for a document that a browser shows.
func wantsDocument(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// loopbackHost reports whether a Host header names this machine in a way that
// no name server has a say in. The port may be that of a tunnel.
func loopbackHost(hostport string) bool {
	host := hostOf(hostport)
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// hostOf is a Host header without its port, and without the brackets of an address.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

// scheme returns the scheme of a request's address.
func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https://"
	}
	return "http://"
}

// sameOrigin refuses what a browser sends for a page that is not ours.
// [http.CrossOriginProtection] passes over safe methods; here they are held to
// the same, since a page is to learn nothing either.
func sameOrigin(r *http.Request) error {
	if err := new(http.CrossOriginProtection).Check(r); err != nil {
		return err
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return fmt.Errorf("a %s request is refused", site)
	}
	for _, origin := range r.Header.Values("Origin") {
		if !strings.EqualFold(origin, scheme(r)+r.Host) {
			return fmt.Errorf("the origin %q is refused", origin)
		}
	}
	return nil
}
