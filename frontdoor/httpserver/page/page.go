package page

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/internal/caller"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/store"
)

// Options configures a [Page]. All fields are required, except where a comment says otherwise.
type Options struct {
	Workspace string // the workspace's name, for people
	RulesFile string // where "always" is noted, for people

	// Agents returns the current agents and the findings about their files, in the form of
	// "worker agents list --json".
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
	Start(ctx context.Context, by record.Person, agent, prompt string) (id string, err error)
	Say(ctx context.Context, by record.Person, id, text string) (newID string, err error)
	Close() error
}

// Page serves the page. Close it.
type Page struct {
	*logins
	*assets
	opts        Options
	hub         *hub
	transcripts *transcripts
	images      *images
	timelines   *timelines
	approvals   *approvals
	talks       *talks
	agents      *agents
}

// New returns the page of a worker.
func New(opts Options) *Page {
	out := answers{opts.Logger}
	assets := newAssets(out)
	return &Page{
		opts: opts, assets: assets,
		logins: &logins{
			assets: assets, links: links{max: maxLinks}, questions: links{max: maxQuestionLinks},
			signer: newSigner(opts.Token), tokens: opts.Named, workspace: opts.Workspace, now: time.Now,
		},
		hub:         newHub(out, opts.Sessions, opts.Bus, opts.Level),
		transcripts: &transcripts{answers: out, sessions: opts.Sessions, html: newHTMLCache()},
		timelines:   &timelines{answers: out, sessions: opts.Sessions, bus: opts.Bus, ended: cache[string, []Span]{max: maxKeptSpans}},
		images:      &images{out, opts.Sessions, opts.Bus},
		approvals:   &approvals{out, opts.Sessions},
		talks:       &talks{out, opts.Talks},
		agents:      &agents{out, opts.Agents, opts.Explain},
	}
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

// Deleted removes a deleted session from browsers, with those below it.
func (p *Page) Deleted(id string) { p.hub.deleted(id) }

// The paths that anybody may ask for who reaches the server.
const (
	LoginPath = "/login"
	AssetPath = "/assets/"
)

// Route is what a method and a path of the page are answered by.
type Route struct {
	Method, Path string
	Scope        caller.Scope
	Handler      http.HandlerFunc
	Streams      bool // a GET stays open as long as its client wants
}

// Routes returns what the page has: its documents, and what its scripts ask for.
func (p *Page) Routes() []Route {
	get, post := http.MethodGet, http.MethodPost
	return []Route{
		{get, LoginPath, caller.Anyone, p.login, false},
		{post, LoginPath, caller.Anyone, p.confirm, false},
		{get, AssetPath + "{file}", caller.Anyone, p.file, false}, // they tell nothing
		{get, "/{$}", caller.Read, p.document, false},
		{get, "/sessions/{id}", caller.Read, p.document, false},
		{get, "/agents", caller.Read, p.document, false},
		{get, "/page/events", caller.Read, p.hub.events, true},
		{get, "/page/sessions/{id}", caller.Read, p.transcripts.serve, false},
		{get, "/page/sessions/{id}/timeline", caller.Read, p.timelines.serve, false},
		{get, "/page/sessions/{id}/images/{hash}", caller.Read, p.images.serve, false},
		{get, "/page/agents", caller.Read, p.agents.list, false},
		{post, "/page/explain", caller.Read, p.agents.explain, false},
		{post, "/page/approvals", caller.Approve, p.approvals.decide, false},
		{post, "/page/conversations", caller.Run, p.talks.start, false},
		{post, "/page/conversations/{id}", caller.Run, p.talks.say, false},
	}
}

// document answers with the page itself. What it shows depends on its address, which its
// scripts look at.
func (p *Page) document(w http.ResponseWriter, r *http.Request) {
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
