package mcpclient

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/tool"
)

const (
	loginTime = 5 * time.Minute // until a person has said yes in the browser
	maxLogin  = 64 << 10        // bytes of a kept login
	callback  = "/callback"
)

// login is what is kept of a login with one content of a server.
type login struct {
	Client oauth2.Config `json:"client"`
	Token  *oauth2.Token `json:"token"`
}

// logins are the kept logins of a workspace's servers, each in a file of mode 0600.
type logins struct {
	dir string
	mu  *sync.Mutex
}

func (l logins) path(s *mcpconfig.Server) string { return filepath.Join(l.dir, s.Hash()+".json") }

// load returns the login with a server; nil means that there is none.
func (l logins) load(s *mcpconfig.Server) (*login, error) {
	text, err := boundedfile.Read(l.path(s), maxLogin)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	kept := new(login)
	if err := json.Unmarshal(text, kept); err != nil || kept.Token == nil {
		return nil, fmt.Errorf("%s is no login: log in again", l.path(s))
	}
	return kept, nil
}

func (l logins) store(s *mcpconfig.Server, kept *login) error {
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(l.dir, 0o700), atomicfile.Write(l.path(s), text, 0o600))
}

// forget removes the login with a server.
func (l logins) forget(s *mcpconfig.Server) error {
	if err := os.Remove(l.path(s)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// source returns the tokens of a login. One that has expired is renewed, and the new one is kept.
func (l logins) source(ctx context.Context, s *mcpconfig.Server, kept *login) oauth2.TokenSource {
	return &renewing{logins: l, server: s, kept: kept, from: kept.Client.TokenSource(ctx, kept.Token)}
}

type renewing struct {
	logins
	server *mcpconfig.Server
	kept   *login
	from   oauth2.TokenSource
}

// Token implements [oauth2.TokenSource].
func (r *renewing) Token() (*oauth2.Token, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	token, err := r.from.Token()
	if err != nil {
		return nil, fmt.Errorf("the login has ended (%w): %s", err, loginAgain(r.server))
	}
	if token.AccessToken != r.kept.Token.AccessToken {
		r.kept = &login{r.kept.Client, token}
		if err := r.store(r.server, r.kept); err != nil {
			return nil, err
		}
	}
	return token, nil
}

func loginAgain(s *mcpconfig.Server) string {
	return fmt.Sprintf("'worker mcp servers login %s' logs in", termtext.OneLine(s.Name, termtext.MaxServer))
}

// loggedIn gives a connection the tokens of its server's login. Where there is none it says how to
// get one: no session opens a browser.
type loggedIn struct {
	server *mcpconfig.Server
	tokens oauth2.TokenSource // nil means none
}

// TokenSource implements [auth.OAuthHandler].
func (l *loggedIn) TokenSource(context.Context) (oauth2.TokenSource, error) { return l.tokens, nil }

// Authorize implements [auth.OAuthHandler].
func (l *loggedIn) Authorize(_ context.Context, _ *http.Request, res *http.Response) error {
	res.Body.Close()
	return fmt.Errorf("it asks for a login (%s): %s", res.Status, loginAgain(l.server))
}

// handler returns what authorizes the calls of a remote server. A header that the server's
// configuration has comes first: nil.
func (c *connection) handler(ctx context.Context, caller *http.Client, server *mcpconfig.Server) (auth.OAuthHandler, error) {
	if c.authorize != nil {
		return c.authorize, nil
	}
	if caller.Transport.(*withHeaders).headers.Get("Authorization") != "" {
		return nil, nil
	}
	kept, err := c.servers.logins.load(c.server)
	if err != nil {
		return nil, err
	}
	h := &loggedIn{server: server}
	if kept != nil {
		h.tokens = c.servers.logins.source(context.WithValue(ctx, oauth2.HTTPClient, caller), c.server, kept)
	}
	return h, nil
}

// LoggedIn reports whether a login with a server is kept.
func (s *Servers) LoggedIn(server *mcpconfig.Server) bool {
	kept, err := s.logins.load(server)
	return kept != nil || err != nil
}

// Login logs in with a remote server by OAuth, and keeps the tokens. visit is handed the page on
// which a person says yes; it doesn't wait for that. The tokens are for this very content of the server.
func (s *Servers) Login(ctx context.Context, server *mcpconfig.Server, ws *tool.Workspace, visit func(page string) error) (tools int, err error) {
	if server.Transport != mcpconfig.HTTP {
		return 0, fmt.Errorf("the MCP server %s (%s) has no login: only one at an http URL does", server.Name, server.Transport)
	}
	rules, err := s.opts.Rules()
	if err != nil {
		return 0, err
	}
	st := s.Status(server)
	if st.State != Ready {
		return 0, fmt.Errorf("it is %s: %s", st.State, st.Why)
	}
	if err := s.logins.forget(server); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginTime, fmt.Errorf("nobody has logged in within %s", errtext.Duration(loginTime)))
	defer cancel()
	back, err := listenBack()
	if err != nil {
		return 0, err
	}
	defer back.close()
	c := &connection{servers: s, server: server, said: st.Trusted, ws: ws, turn: make(chan struct{}, 1)}
	defer func() { err = errors.Join(err, c.Close()) }()
	expanded, err := server.Expand(s.opts.Lookup)
	if err != nil {
		return 0, err
	}
	caller, err := c.caller(ctx, expanded)
	if err != nil {
		return 0, err
	}
	c.authorize, err = auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			RedirectURIs: []string{back.url}, ClientName: "agentworker", GrantTypes: []string{"authorization_code", "refresh_token"},
			TokenEndpointAuthMethod: "none",
		}},
		RequestRefreshToken: true,
		Client:              caller,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return back.fetch(ctx, args.URL, visit)
		},
		NewTokenSource: func(ctx context.Context, client *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			kept := &login{*client, token}
			return s.logins.source(ctx, server, kept), s.logins.store(server, kept)
		},
	})
	if err != nil {
		return 0, err
	}
	if _, err := c.use(ctx, rules); err != nil {
		return 0, errors.Join(err, s.logins.forget(server))
	}
	return len(s.list(server)), nil
}

// listener waits on this machine for the browser to come back.
type listener struct {
	url   string
	http  *http.Server
	came  chan url.Values
	ended chan struct{}
	state string
	mu    sync.Mutex
}

func listenBack() (*listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &listener{url: "http://" + l.Addr().String() + callback, came: make(chan url.Values, 1), ended: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callback, b.back)
	b.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(b.ended)
		_ = b.http.Serve(l) // it ends with close
	}()
	return b, nil
}

func (b *listener) close() {
	_ = b.http.Close()
	<-b.ended
}

// back is where the browser comes back to. What does not have the state of this login is no answer to it.
func (b *listener) back(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	b.mu.Lock()
	ours := b.state != "" && subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(b.state)) == 1
	b.mu.Unlock()
	if !ours {
		http.Error(w, "this page does not belong to the login that runs", http.StatusBadRequest)
		return
	}
	select {
	case b.came <- q:
	default: // it has come before
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "You can close this page, and go back to worker.\n")
}

// fetch has a person visit a page, and returns the code with which the browser comes back.
func (b *listener) fetch(ctx context.Context, page string, visit func(page string) error) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(page)
	if err != nil {
		return nil, err
	}
	if err := mcpconfig.CheckURL(page); err != nil { // by https, or on this machine: no other program is opened
		return nil, fmt.Errorf("the page of the login: %w", err)
	}
	b.mu.Lock()
	b.state = u.Query().Get("state")
	b.mu.Unlock()
	if err := visit(page); err != nil {
		return nil, err
	}
	select {
	case q := <-b.came:
		if said := q.Get("error"); said != "" {
			return nil, fmt.Errorf("the login was refused: %s", termtext.OneLine(said+" "+q.Get("error_description"), termtext.MaxCause))
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
