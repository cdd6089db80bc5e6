package httpserver

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// recheck is how often it is looked whether the token of an open request still counts.
const recheck = time.Second

// protect admits programs on this machine that have the token, and the pages of people who
// have logged in.
func (s *guard) protect(next http.Handler) func(w *counted, r *http.Request) {
	return func(w *counted, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		identity, err := s.admit(r)
		if err != nil && err.Status == http.StatusUnauthorized {
			err = cmp.Or(s.wrong(header, r), err)
		}
		switch {
		case err == nil:
			s.whileAdmitted(next, w, r, identity)
		case err.Status == http.StatusUnauthorized && s.page != nil && wantsDocument(r):
			s.page.TurnAway(w)
		default:
			if err.Status == http.StatusUnauthorized {
				header.Set("WWW-Authenticate", "Bearer")
			}
			fail(w, err, s.Logger)
		}
	}
}

// whileAdmitted answers a request, and breaks it off once its caller is not admitted any
// more: the token was removed, or replaced by another of its name, or the cookie is too
// old. Then the request ends as if its client had disconnected. The token of the state
// folder counts as long as the server runs.
func (s *guard) whileAdmitted(next http.Handler, out *counted, r *http.Request, identity caller.Identity) {
	ctx := caller.WithIdentity(r.Context(), identity)
	if identity.Name == "" {
		next.ServeHTTP(out, r.WithContext(ctx))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	again := r.Clone(ctx) // the handler may change what r has
	again.Body = nil
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(recheck)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if now, ok := s.identify(again); !ok || now.Name != identity.Name || !slices.Equal(now.Scopes, identity.Scopes) {
				s.Logger.Info("an open request ends: its token does not count any more", "token", identity.Name, "method", again.Method, "path", again.URL.Path, "from", again.RemoteAddr)
				out.revoked.Store(true)
				cancel()
				return
			}
		}
	})
	defer watching.Wait()
	defer cancel()
	next.ServeHTTP(out, r.WithContext(ctx))
	if out.revoked.Load() {
		panic(http.ErrAbortHandler) // what was written is not the whole answer
	}
}

// endRevoked ends the MCP sessions whose token was removed, changed, or replaced by another
// of its name. It works until ctx ends, whether or not the sessions have open requests.
func (s *guard) endRevoked(ctx context.Context) {
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	before := make(map[string]string) // what tells the token of a name from another one
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := make(map[string]string)
		for _, identity := range s.MCP.Identities() {
			if identity.Name == "" { // that of the state folder
				continue
			}
			is, secret, ok := s.Tokens.Named(identity.Name)
			was, known := before[identity.Name]
			if ok && slices.Equal(is.Scopes, identity.Scopes) && (!known || was == secret) {
				now[identity.Name] = secret
				continue
			}
			s.Logger.Info("the MCP sessions of a token end: it does not count any more", "token", identity.Name)
			s.MCP.End(identity)
		}
		before = now
	}
}
