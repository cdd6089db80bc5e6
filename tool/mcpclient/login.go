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

	"github.com/gofrs/flock"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

const (
	loginTime = 5 * time.Minute  // until a person has said yes in the browser
	renewTime = 15 * time.Second // until a token is renewed
	maxLogin  = 64 << 10         // bytes of a kept login
	callback  = "/callback"
)

// login is what is kept of a login with one content of a server.
type login struct {
	Client oauth2.Config `json:"client"`
	Token  *oauth2.Token `json:"token"`
}

// logins are the kept logins of a workspace's servers, each in a file of mode 0600. All processes
// share the files, so that none keeps a login in memory.
type logins struct{ dir string }

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

// lock has nobody else write the login with a server, in this process or another, until unlock.
func (l logins) lock(ctx context.Context, s *mcpconfig.Server) (unlock func(), err error) {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(l.path(s)+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return nil, fmt.Errorf("waiting for another process that uses the login: %w", err)
	}
	return func() { _ = lock.Unlock() }, nil // it ends with the process at the latest
}

// store keeps a login. Call it with the lock held.
func (l logins) store(s *mcpconfig.Server, kept *login) error {
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return atomicfile.Write(l.path(s), text, 0o600)
}

// forget removes the login with a server.
func (l logins) forget(s *mcpconfig.Server) error {
	err := os.Remove(l.path(s)) // without the lock: from now on nobody uses it
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	unlock, err := l.lock(context.Background(), s)
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Remove(l.path(s)); !errors.Is(err, fs.ErrNotExist) { // renewed meanwhile
		return err
	}
	return nil
}

// renewing returns the tokens of a kept login. It renews a token that has expired, and keeps the new one.
type renewing struct {
	logins
	ctx    context.Context // of the connection
	server *mcpconfig.Server
}

// Token implements [oauth2.TokenSource]. It returns nil where there is no login.
func (r *renewing) Token() (*oauth2.Token, error) {
	kept, err := r.load(r.server)
	if err != nil || kept == nil {
		return nil, err
	}
	if kept.Token.Valid() {
		return kept.Token, nil
	}
	ctx, cancel := context.WithTimeoutCause(r.ctx, renewTime, fmt.Errorf("there is no answer within %s", errtext.Duration(renewTime)))
	defer cancel()
	token, err := r.renew(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("its login can't be renewed (%w): %s again", err, loginAgain(r.server))
	}
	return token, nil
}

// renew renews the token, unless somebody else has. A refresh token is often good for one use, so
// that it must be the one that was kept last.
func (r *renewing) renew(ctx context.Context) (*oauth2.Token, error) {
	unlock, err := r.lock(ctx, r.server)
	if err != nil {
		return nil, err
	}
	defer unlock()
	kept, err := r.load(r.server)
	if err != nil || kept == nil {
		return nil, err
	}
	if kept.Token.Valid() {
		return kept.Token, nil
	}
	token, err := kept.Client.TokenSource(ctx, kept.Token).Token()
	if err != nil {
		return nil, err
	}
	if still, err := r.load(r.server); err != nil || still == nil { // it was forgotten meanwhile
		return nil, err
	}
	return token, r.store(r.server, &login{kept.Client, token})
}

func loginAgain(s *mcpconfig.Server) string {
	return fmt.Sprintf("'worker mcp servers login %s' logs in", termtext.OneLine(s.Name, termtext.MaxServer))
}

// loggedIn gives a connection the tokens of its server's login. Where there is none it says how to
// get one: no session opens a browser.
type loggedIn struct{ tokens *renewing }

// TokenSource implements [auth.OAuthHandler].
func (l *loggedIn) TokenSource(context.Context) (oauth2.TokenSource, error) { return l.tokens, nil }

// Authorize implements [auth.OAuthHandler].
func (l *loggedIn) Authorize(_ context.Context, _ *http.Request, res *http.Response) error {
	res.Body.Close()
	return fmt.Errorf("it asks for a login (%s): %s", res.Status, loginAgain(l.tokens.server))
}

// handler returns what authorizes the calls of a remote server. A header that the server's
// configuration has comes first: nil.
func (c *connection) handler(ctx context.Context, caller *http.Client) auth.OAuthHandler {
	switch {
	case c.authorize != nil:
		return c.authorize
	case hasAuthorization(caller):
		return nil
	}
	return &loggedIn{&renewing{c.servers.logins, context.WithValue(ctx, oauth2.HTTPClient, caller), c.server}}
}

// hasAuthorization reports whether a server's configuration has the header Authorization.
func hasAuthorization(caller *http.Client) bool {
	return caller.Transport.(*withHeaders).headers.Get("Authorization") != ""
}

// LoggedIn reports whether a login with a server is kept.
func (s *Servers) LoggedIn(server *mcpconfig.Server) bool {
	kept, err := s.logins.load(server)
	return kept != nil || err != nil
}

// Login logs in with a remote server by OAuth. The tokens replace those of an earlier login. visit is handed
// the page on which a person says yes; it doesn't wait for that. The tokens are for this very content of the server.
func (s *Servers) Login(ctx context.Context, server *mcpconfig.Server, ws *tool.Workspace, visit func(page string) error) (tools int, err error) {
	if server.Transport != mcpconfig.HTTP {
		return 0, fmt.Errorf("the MCP server %s (%s) has no login: only one over streamable HTTP does", server.Name, server.Transport)
	}
	rules, err := s.opts.Rules()
	if err != nil {
		return 0, err
	}
	st := s.Status(server)
	if st.State != Ready {
		return 0, fmt.Errorf("it is %s: %s", st.State, st.Why)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loginTime, fmt.Errorf("nobody has logged in within %s", errtext.Duration(loginTime)))
	defer cancel()
	c := &connection{servers: s, server: server, said: st.Trusted, ws: ws, turn: make(chan struct{}, 1)}
	made, err := c.logIn(ctx, rules, visit)
	if err != nil {
		return 0, err
	}
	unlock, err := s.logins.lock(ctx, server)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if err := s.logins.store(server, made); err != nil {
		return 0, err
	}
	return len(s.list(server)), nil
}

// logIn has a person log in, and returns the login once the server has taken it. The connection is closed then.
func (c *connection) logIn(ctx context.Context, rules *permission.Layers, visit func(page string) error) (*login, error) {
	back, err := listenBack()
	if err != nil {
		return nil, err
	}
	defer back.close()
	expanded, err := c.server.Expand(c.servers.opts.Lookup)
	if err != nil {
		return nil, err
	}
	caller, err := c.caller(ctx, expanded)
	if err != nil {
		return nil, err
	}
	defer caller.CloseIdleConnections()
	if hasAuthorization(caller) {
		return nil, fmt.Errorf("the MCP server %s has the header Authorization, which comes before a login: remove it from %s to log in", c.server.Name, c.server.Source())
	}
	authorize, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			RedirectURIs: []string{back.url}, ClientName: "agentworker", GrantTypes: []string{"authorization_code", "refresh_token"},
			TokenEndpointAuthMethod: "none",
		}},
		RequestRefreshToken: true,
		Client:              caller,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return back.fetch(ctx, args.URL, visit)
		},
		NewTokenSource: func(_ context.Context, client *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			return &granted{client.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, caller), token), client}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	c.authorize = authorize
	_, err = c.use(ctx, rules)
	if err = errors.Join(err, c.Close()); err != nil { // closed: nothing renews the token after this
		return nil, err
	}
	source, err := authorize.TokenSource(ctx)
	if err != nil {
		return nil, err
	}
	made, ok := source.(*granted)
	if !ok {
		return nil, fmt.Errorf("nobody has logged in: the MCP server %s answers without a login", c.server.Name)
	}
	token, err := made.Token()
	if err != nil {
		return nil, err
	}
	return &login{*made.client, token}, nil
}

// granted are the tokens of a login that is not kept yet.
type granted struct {
	oauth2.TokenSource
	client *oauth2.Config
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
