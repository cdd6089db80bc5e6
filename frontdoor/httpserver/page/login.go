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

	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/approval"
)

const (
	// linkTime is how long a link can be used.
	linkTime = 10 * time.Minute

	// maxLinks bounds the links that wait to be used: one more replaces the oldest. Those to
	// questions are counted by themselves.
	maxLinks         = 32
	maxQuestionLinks = 1000

	// cookieTime is how long a cookie counts. The browser forgets it at its end.
	cookieTime = 7 * 24 * time.Hour
)

// logins lets browsers in, by one-time links that become cookies.
type logins struct {
	*assets
	workspace string
	links     links
	questions links // each leads to a question
	signer    signer
	tokens    func(name string) (identity caller.Identity, secret string, ok bool) // whose named tokens count now; nil means there are none
	now       func() time.Time
}

// links are the one-time links that can still be used.
type links struct {
	mu   sync.Mutex
	open []link // the oldest first
	max  int
}

type link struct {
	code    string
	name    string // of who logs in by it: see [caller.Identity]
	to      string // the path that it leads to
	expires time.Time
}

// add keeps a link, and returns it with a code of 256 random bits.
func (l *links) add(made link) link {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	made.code = base64.RawURLEncoding.EncodeToString(raw)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open = append(l.open, made); len(l.open) > l.max {
		l.open = slices.Delete(l.open, 0, 1)
	}
	return made
}

// find returns the link of a code. If it is used, it no longer counts. How long it takes does not
// depend on how much of the code is right.
func (l *links) find(code string, now time.Time, use bool) (of link, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := -1
	for i, o := range l.open {
		if subtle.ConstantTimeCompare([]byte(code), []byte(o.code)) == 1 && now.Before(o.expires) {
			found = i
		}
	}
	if found < 0 {
		return link{}, false
	}
	of = l.open[found]
	if use {
		l.open = slices.Delete(l.open, found, found+1)
	}
	return of, true
}

// signer makes and checks the values of cookies: "EXPIRES.NONCE.NAME.MAC". NAME is
// a token's, and empty for the owner. The MAC also covers a secret of the token, so that a
// cookie ends with it.
type signer struct{ key []byte }

func newSigner(token string) signer {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("agentworker: cookies of the page"))
	return signer{mac.Sum(nil)}
}

func (s signer) value(expires time.Time, name, secret string) string {
	body := strconv.FormatInt(expires.Unix(), 10) + "." + rand.Text() + "." + name
	return body + "." + s.sum(body, secret)
}

func (s signer) sum(body, secret string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(body + "\n" + secret))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// valid returns who a value is of that is genuine and not too old. named is [logins.named].
func (s signer) valid(value string, now time.Time, named func(name string) (caller.Identity, string, bool)) (caller.Identity, bool) {
	parts := strings.Split(value, ".")
	if len(parts) != 4 {
		return caller.Identity{}, false
	}
	identity, secret, ok := named(parts[2])
	body := value[:len(value)-len(parts[3])-1]
	if !ok || !hmac.Equal([]byte(parts[3]), []byte(s.sum(body, secret))) {
		return caller.Identity{}, false
	}
	expires, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil || now.Unix() >= expires {
		return caller.Identity{}, false
	}
	return identity, true
}

// named returns who a name is, and what cookies depend on besides the key; false: it has no
// token. The empty name is the owner's.
func (l *logins) named(name string) (identity caller.Identity, secret string, ok bool) {
	switch {
	case name == "":
		return caller.OwnerIdentity, "", true
	case l.tokens == nil:
		return caller.Identity{}, "", false
	}
	return l.tokens(name)
}

// CookieName is the name of the cookie of the page at a host. Browsers keep cookies by
// host, whatever the port: without that in the name, the pages of two workspaces would
// log each other out.
func CookieName(host string) string {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		port = "default"
	}
	return "agentworker-" + port
}

// Admit returns who has logged in with the cookie of a request. A
// request that may change something needs a header which says that it comes from the page
// itself. Browsers send one.
func (l *logins) Admit(r *http.Request) (caller.Identity, bool) {
	cookie, err := r.Cookie(CookieName(r.Host))
	if err != nil {
		return caller.Identity{}, false
	}
	identity, ok := l.signer.valid(cookie.Value, l.now(), l.named)
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	says := r.Header.Get("Sec-Fetch-Site") == "same-origin" || r.Header.Get("Origin") != "" // which the server has compared
	if !ok || !reads && !says {
		return caller.Identity{}, false
	}
	return identity, true
}

// login makes a link a cookie. One that leads to a question first shows a button: chat servers
// open the links that they are sent.
func (l *logins) login(w http.ResponseWriter, r *http.Request) {
	code := r.URL.Query().Get("link")
	if to, ok := l.questions.find(code, l.now(), false); ok {
		l.html(w, http.StatusOK, "answer.html", "Title", l.title(), "Name", to.name, "Link", code)
		return
	}
	used, ok := l.links.find(code, l.now(), true)
	l.enter(w, r, used, ok, l.now().Add(cookieTime))
}

// confirm makes a link to a question a cookie, which ends with the question.
func (l *logins) confirm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	used, ok := l.questions.find(r.PostFormValue("link"), l.now(), true)
	if by, admitted := l.Admit(r); ok && admitted && (by.Name == used.name || by.May(caller.Owner)) { // that login lasts longer
		l.html(w, http.StatusOK, "login.html", "To", used.to)
		return
	}
	l.enter(w, r, used, ok, used.expires)
}

// enter sets the cookie of a link that was used. The answer is a document that leads on, and no
// redirect: the browser would not send a SameSite=Strict cookie along with one where the link was
// clicked in another page.
func (l *logins) enter(w http.ResponseWriter, r *http.Request, used link, ok bool, until time.Time) {
	_, secret, known := l.named(used.name)
	if !ok || !known {
		l.turnAway(w, "This link was used already, or is too old.")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: CookieName(r.Host), Value: l.signer.value(until, used.name, secret), Path: "/",
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	l.html(w, http.StatusOK, "login.html", "To", used.to)
}

// TurnAway answers somebody who has not logged in with what to do about it.
func (l *logins) TurnAway(w http.ResponseWriter) {
	l.turnAway(w, "You are not logged in.")
}

func (l *logins) turnAway(w http.ResponseWriter, why string) {
	l.html(w, http.StatusUnauthorized, "denied.html", "Title", l.title(), "Why", why)
}

func (l *logins) title() string {
	if l.workspace == "" {
		return "agentworker"
	}
	return "agentworker · " + l.workspace
}

// Link returns an address that logs a browser in, once, and until when it can be used.
// base is that of the server: http://127.0.0.1:7433. Who logs in has the rights of a name's
// token; the empty name is the owner's.
func (l *logins) Link(base, name string) (url string, expires time.Time) {
	made := l.links.add(link{name: name, to: "/", expires: l.now().Add(linkTime)})
	return base + LoginPath + "?link=" + made.code, made.expires
}

// QuestionLink is Link for the answer to a question. It leads to the question's card. The link, and
// the login that it becomes, end with the question. false: nobody has a token of that name.
func (l *logins) QuestionLink(base, name string, a *approval.Approval) (url string, ok bool) {
	if _, _, ok := l.named(name); !ok {
		return "", false
	}
	made := l.questions.add(link{name: name, to: "/sessions/" + a.SessionID + "#" + a.ID, expires: a.ExpiresAt})
	return base + LoginPath + "?link=" + made.code, true
}
