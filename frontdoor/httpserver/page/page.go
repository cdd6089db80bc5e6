package page

import (
	"context"
	"embed"
	"encoding/hex"
	"hash/fnv"
	"html"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/httpserver/problem"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/store"
)

// Options configures a [Page]. Those that say so may be left out.
type Options struct {
	Workspace string // the workspace's name, for people
	RulesFile string // where "always" is noted, for people

	// Agents returns the agents and what is wrong with their files, as it is at the
	// moment, in the form of "worker agents list --json".
	Agents func() any

	// Talks has the conversations with primary agents. The page closes it.
	Talks Talks

	// The server fills these in.
	Explain  func(ctx context.Context, agent, tool, arg string) (any, error) // as in its own options
	Sessions *store.Store
	Bus      *eventbus.Bus
	Level    func(id string) (event.Budget, bool) // how much of its own budget a session of this process has used; nil means that is not known
	Token    string
	Named    func(name string) (identity caller.Identity, secret string, ok bool) // whose named tokens count now
	Logger   *slog.Logger
}

// Talks has the conversations of people with primary agents. The ids are those of
// sessions; see [github.com/agentworker/worker/taskt/conversation.Desk].
type Talks interface {
	Start(ctx context.Context, by store.Person, agent, prompt string) (id string, err error)
	Say(ctx context.Context, by store.Person, id, text string) (newID string, err error)
	Close() error
}

// Page serves the page. Close it.
type Page struct {
	opts   Options
	links  links
	signer signer
	hub    *hub
	kept   kept
	ended  ended
	log    *slog.Logger
	now    func() time.Time

	assets map[string]asset
}

// New returns the page of a worker.
func New(opts Options) *Page {
	p := &Page{
		opts: opts, signer: newSigner(opts.Token), log: opts.Logger, now: time.Now,
		assets: make(map[string]asset),
	}
	p.hub = newHub(opts.Sessions, opts.Bus, opts.Level, opts.Logger)
	names, err := fs.Glob(files, "assets/*")
	if err != nil {
		panic(err) // the pattern is a good one
	}
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			panic(err) // it is within the program
		}
		hash := fnv.New64a()
		hash.Write(data)
		p.assets[path.Base(name)] = asset{data, kinds[path.Ext(name)], `"` + hex.EncodeToString(hash.Sum(nil)) + `"`}
	}
	return p
}

// Close ends what the page has started, and waits for it.
func (p *Page) Close() {
	p.hub.close()
	if p.opts.Talks == nil {
		return
	}
	if err := p.opts.Talks.Close(); err != nil {
		p.log.Error("ending the conversations", "err", err)
	}
}

// Deleted has browsers told that a session was deleted, with those below it.
func (p *Page) Deleted(id string) { p.hub.deleted(id) }

//go:embed assets
var files embed.FS

// asset is a file that the browser asks for.
type asset struct {
	data []byte
	kind string // Content-Type
	etag string
}

// kinds are the types of the files, whatever the system says of them.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// policy lets the page run its own scripts and reach its own server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types markdown"

// setHeaders sets what each answer of the page has. The server adds nosniff and no-store.
func setHeaders(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// Route is what a method and a path of the page are answered by.
type Route struct {
	Method, Path string
	Scope        caller.Scope
	Handler      http.HandlerFunc
}

// Routes returns what the page has: its documents, and what its scripts ask for.
func (p *Page) Routes() []Route {
	get, post := http.MethodGet, http.MethodPost
	return []Route{
		{get, LoginPath, caller.Anyone, p.login},
		{get, AssetPath + "{file}", caller.Anyone, p.asset}, // they tell nothing
		{get, "/{$}", caller.Read, p.document},
		{get, "/sessions/{id}", caller.Read, p.document},
		{get, "/agents", caller.Read, p.document},
		{get, "/page/events", caller.Read, p.events},
		{get, "/page/sessions/{id}", caller.Read, p.session},
		{get, "/page/sessions/{id}/timeline", caller.Read, p.timeline},
		{get, "/page/agents", caller.Read, p.agents},
		{post, "/page/explain", caller.Read, p.explain},
		{post, "/page/approvals", caller.Approve, p.answerApproval},
		{post, "/page/conversations", caller.Run, p.startTalk},
		{post, "/page/conversations/{id}", caller.Run, p.say},
	}
}

// The paths that anybody may ask for who reaches the server.
const (
	LoginPath = "/login"
	AssetPath = "/assets/"
)

// document answers with the page itself. What it shows depends on its address, which its
// scripts look at.
func (p *Page) document(w http.ResponseWriter, r *http.Request) {
	setHeaders(w)
	who := caller.IdentityOf(r.Context())
	var scopes []string
	for _, scope := range who.Scopes {
		scopes = append(scopes, string(scope))
	}
	may := ""
	if !who.May(caller.Owner) {
		may = who.Name + " may " + strings.Join(scopes, ", ")
	}
	p.html(w, http.StatusOK, "index.html",
		"Workspace", p.opts.Workspace, "RulesFile", p.opts.RulesFile, "Scopes", strings.Join(scopes, " "), "May", may)
}

// html answers with a document of assets. values are the names of its places, each with the
// text that stands there. A place is {{NAME}}, between tags or in an attribute with quotes:
// html/template would keep the linker from leaving out methods that nothing calls.
func (p *Page) html(w http.ResponseWriter, status int, name string, values ...string) {
	for i := range values {
		if i%2 == 0 {
			values[i] = "{{" + values[i] + "}}"
		} else {
			values[i] = html.EscapeString(values[i])
		}
	}
	w.Header().Set("Content-Type", kinds[".html"])
	p.write(w, status, []byte(strings.NewReplacer(values...).Replace(string(p.assets[name].data))))
}

// asset answers with a file. The browser keeps it, and asks whether it has changed.
func (p *Page) asset(w http.ResponseWriter, r *http.Request) {
	setHeaders(w)
	a, ok := p.assets[r.PathValue("file")]
	if !ok || strings.HasSuffix(r.PathValue("file"), ".html") {
		p.fail(w, &store.NotFoundError{What: "file", ID: r.PathValue("file")})
		return
	}
	header := w.Header()
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", a.etag)
	header.Set("Content-Type", a.kind)
	if r.Header.Get("If-None-Match") == a.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	p.write(w, http.StatusOK, a.data)
}

// answer writes a JSON document.
func (p *Page) answer(w http.ResponseWriter, body any) {
	p.json(w, http.StatusOK, "application/json", body)
}

// fail answers with an error.
func (p *Page) fail(w http.ResponseWriter, why error) {
	e := caller.Explain(why, p.log)
	p.json(w, e.Status, problem.MediaType, problem.Of(e))
}

func (p *Page) json(w http.ResponseWriter, status int, mediaType string, body any) {
	setHeaders(w)
	data, err := caller.JSON(body)
	if err != nil {
		p.log.Error("encoding an answer of the page", "err", err)
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", mediaType)
	p.write(w, status, data)
}

// writeTimeout is how long a browser may take to accept one piece of an answer.
const writeTimeout = 30 * time.Second

func (p *Page) write(w http.ResponseWriter, status int, data []byte) {
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		w.WriteHeader(status)
		_, err = w.Write(data)
	}
	if err != nil {
		p.log.Debug("answering a browser", "err", err) // it has gone
	}
}
