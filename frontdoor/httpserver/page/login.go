package page

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// linkTime is how long a link can be used.
	linkTime = 10 * time.Minute

	// maxLinks bounds the links that wait to be used: one more replaces the oldest.
	maxLinks = 32

	// cookieTime is how long a cookie counts. The browser forgets it at its end.
	cookieTime = 7 * 24 * time.Hour
)

// links are the one-time links that can still be used.
type links struct {
	mu   sync.Mutex
	open []link // the oldest first
}

type link struct {
	code    string
	expires time.Time
}

// make returns a new link's code, of 256 random bits.
func (l *links) make(now time.Time) link {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	made := link{base64.RawURLEncoding.EncodeToString(raw), now.Add(linkTime)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open = append(l.open, made); len(l.open) > maxLinks {
		l.open = slices.Delete(l.open, 0, 1)
	}
	return made
}

// use reports whether a code is that of a link, which no longer counts then. How long
// it takes does not depend on how much of the code is right.
func (l *links) use(code string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := -1
	for i, o := range l.open {
		if subtle.ConstantTimeCompare([]byte(code), []byte(o.code)) == 1 && now.Before(o.expires) {
			found = i
		}
	}
	if found < 0 {
		return false
	}
	l.open = slices.Delete(l.open, found, found+1)
	return true
}

// signer makes and checks the values of cookies: "EXPIRES.NONCE.MAC".
type signer struct{ key []byte }

func newSigner(token string) signer {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("agentworker: cookies of the page"))
	return signer{mac.Sum(nil)}
}

func (s signer) value(now time.Time) string {
	body := strconv.FormatInt(now.Add(cookieTime).Unix(), 10) + "." + rand.Text()
	return body + "." + s.sum(body)
}

func (s signer) sum(body string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(body))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (s signer) valid(value string, now time.Time) bool {
	at := strings.LastIndexByte(value, '.')
	if at < 0 || !hmac.Equal([]byte(value[at+1:]), []byte(s.sum(value[:at]))) {
		return false
	}
	text, _, _ := strings.Cut(value, ".")
	expires, err := strconv.ParseInt(text, 10, 64)
	return err == nil && now.Unix() < expires
}

// cookieName is the name of the cookie of the page at a host. Browsers keep cookies by
// host, whatever the port: without that in the name, the pages of two workspaces would
// log each other out.
func cookieName(host string) string {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		port = "default"
	}
	return "agentworker-" + port
}

// Admit reports whether a request has the cookie of somebody who has logged in. One that
// may change something must also say that it comes from the page itself, as browsers do:
// what says nothing is refused.
func (p *Page) Admit(r *http.Request) bool {
	cookie, err := r.Cookie(cookieName(r.Host))
	if err != nil || !p.signer.valid(cookie.Value, p.now()) {
		return false
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	return r.Header.Get("Sec-Fetch-Site") == "same-origin" || r.Header.Get("Origin") != "" // which the server has compared
}

// login makes a link a cookie. The answer is a document that leads on, and no redirect:
// the browser would not send a SameSite=Strict cookie along with one where the link was
// clicked in another page.
func (p *Page) login(w http.ResponseWriter, r *http.Request) {
	setHeaders(w)
	if !p.links.use(r.URL.Query().Get("link"), p.now()) {
		p.turnAway(w, "This link was used already, or is too old.")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r.Host), Value: p.signer.value(p.now()), Path: "/",
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	p.html(w, http.StatusOK, "login.html", nil)
}

// TurnAway answers somebody who has not logged in with what to do about it.
func (p *Page) TurnAway(w http.ResponseWriter) {
	setHeaders(w)
	p.turnAway(w, "You are not logged in.")
}

func (p *Page) turnAway(w http.ResponseWriter, why string) {
	p.html(w, http.StatusUnauthorized, "denied.html", struct{ Why, Workspace string }{why, p.opts.Workspace})
}

// Link returns an address that logs a browser in, once, and until when it can be used.
// base is that of the server: http://127.0.0.1:7433.
func (p *Page) Link(base string) (url string, expires time.Time) {
	made := p.links.make(p.now())
	return base + "/login?link=" + made.code, made.expires
}
