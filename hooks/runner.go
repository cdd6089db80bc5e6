package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
)

// Options configures a [Runner].
type Options struct {
	Root   string             // the workspace
	Own    []*hookconfig.Hook // of the settings
	Files  []hookconfig.File
	Agents func() []*hookconfig.Hook // of the agent files; nil means none. They run as [Call.Hooks]
	Trust  *Trust
	Always bool // hooks of the repository run without anybody's trust
	Shell  string
	Env    []string
	Lookup func(name string) (string, bool) // a variable of the environment; nil means there is none
	Logger *slog.Logger
}

// Runner runs the hooks of a workspace. It is safe for concurrent use.
type Runner struct {
	opts   Options
	client *http.Client
	async  sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	looked time.Time
	stamp  string
	hooks  []*hookconfig.Hook // of the settings and files
	told   map[string]bool    // failures that the log has
}

// New returns the hooks of a workspace. An error is about a file of the user: what the
// repository has wrong is in [Runner.Problems]. The caller closes it.
func New(opts Options) (*Runner, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Runner{opts: opts, ctx: ctx, cancel: cancel, told: map[string]bool{}, client: &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	return r, r.load()
}

// lastTime is for how long [Runner.Close] waits for the hooks that nobody else waits for.
const lastTime = 2 * time.Second

// Close ends the hooks that nobody waits for, after a while.
func (r *Runner) Close() {
	if r == nil {
		return
	}
	late := time.AfterFunc(lastTime, r.cancel)
	r.async.Wait()
	late.Stop()
	r.cancel()
}

// Outcome is what the hooks of an event say together.
type Outcome struct {
	Deny    *Voice // the first that denies; nil means none does
	Ask     *Voice
	Allow   *Voice
	Updated json.RawMessage // the arguments of the tool, in our form; nil means they stay
	By      *Voice          // of Updated
	Context []Voice         // what the model reads besides
	Output  *Voice          // what it reads instead of the tool's result
}

// Voice is what a hook says.
type Voice struct {
	Hook *hookconfig.Hook
	Text string
}

// Has reports whether there are hooks for a call.
func (r *Runner) Has(c *Call) bool {
	return r != nil && len(r.matching(c)) > 0
}

// matching returns the hooks that a call is for. Some of them may not run.
func (r *Runner) matching(c *Call) (found []*hookconfig.Hook) {
	for _, all := range [][]*hookconfig.Hook{r.current(), c.Hooks} {
		for _, h := range all {
			words := c.subjects(h.Dialect)
			if about(h, c) && (words == nil || h.Matches(words...)) && applies(h, c) && r.State(h) != NotTrusted {
				found = append(found, h)
			}
		}
	}
	return found
}

// about reports whether a hook is for the event of a call. Stop in the file of an agent is of
// any session of it.
func about(h *hookconfig.Hook, c *Call) bool {
	return h.Event == c.Event || h.Agent && h.Event == hookconfig.Stop && c.Event == hookconfig.SubagentStop
}

// Go is Run for an event whose hooks nobody waits for. They end with [Runner.Close].
func (r *Runner) Go(c Call) {
	if r.Has(&c) {
		r.async.Go(func() { r.Run(r.ctx, c) })
	}
}

// Run runs the hooks of a call side by side, and returns what they say together. If hooks
// change the arguments, all of them judge the new ones once more, and no hook changes them again.
func (r *Runner) Run(ctx context.Context, c Call) Outcome {
	if r == nil {
		return Outcome{}
	}
	out := r.round(ctx, &c)
	if out.Updated == nil || out.Deny != nil {
		return out
	}
	again := c
	again.Input = out.Updated
	second := r.round(ctx, &again)
	second.Updated, second.By = out.Updated, out.By
	second.Context = out.Context
	if out.Ask != nil {
		second.Ask = out.Ask
	}
	return second
}

func (r *Runner) round(ctx context.Context, c *Call) (out Outcome) {
	all := r.matching(c)
	if len(all) == 0 {
		return out
	}
	answers := make([]answer, len(all))
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, h := range all {
		switch {
		case r.State(h) != IsTrusted:
			answers[i] = answer{deny: h.Event.Guards(), reason: "one of its scripts has changed since a person trusted it: 'worker hooks trust' shows it"}
		case h.Async && !h.Event.Guards():
			r.async.Go(func() { _, err := r.ask(r.ctx, h, c); r.failed(h, err) })
		default:
			running.Go(func() { answers[i], errs[i] = r.ask(ctx, h, c) })
		}
	}
	running.Wait()
	for i, h := range all {
		if errs[i] != nil {
			r.failed(h, errs[i])
			answers[i] = r.afterFailure(h, errs[i])
		}
		out.add(h, answers[i], c)
	}
	return out
}

// afterFailure is the answer of a hook that has given none.
func (r *Runner) afterFailure(h *hookconfig.Hook, err error) answer {
	if !h.Event.Refuses() || h.OnFailure == "continue" || !h.Event.Guards() && h.OnFailure != "block" {
		return answer{}
	}
	what := "the call is not made"
	if !h.Event.OfTool() {
		what = "nothing is done"
	}
	return answer{deny: true, reason: "it has failed, and without its answer " + what + ": " + termtext.OneLine(err.Error(), termtext.MaxReport)}
}

// failed logs a failure, once for each hook and text.
func (r *Runner) failed(h *hookconfig.Hook, err error) {
	if err == nil || r.ctx.Err() != nil {
		return
	}
	key := h.Source() + err.Error()
	r.mu.Lock()
	told := r.told[key]
	if len(r.told) < 1000 {
		r.told[key] = true
	}
	r.mu.Unlock()
	if !told {
		r.opts.Logger.Warn("a hook has failed", "hook", h.Source(), "event", string(h.Event), "err", err)
	}
}

// add adds what a hook says.
func (o *Outcome) add(h *hookconfig.Hook, a answer, c *Call) {
	said := &Voice{Hook: h, Text: a.reason}
	switch {
	case a.deny:
		if o.Deny == nil {
			o.Deny = said
		}
	case a.ask:
		if o.Ask == nil {
			o.Ask = said
		}
	case a.allow && o.Allow == nil:
		o.Allow = said
	}
	if a.updated != nil && c.Event.Guards() {
		o.Updated, o.By = toolcatalog.FromHook(c.Tool, a.updated, h.Dialect == hookconfig.Copilot), said
	}
	if a.context != "" {
		o.Context = append(o.Context, Voice{h, a.context})
	}
	if a.output != nil {
		o.Output = &Voice{h, *a.output}
	}
}

// Marked is what a hook says as a model reads it.
func (v Voice) Marked() string {
	return fmt.Sprintf("<hook source=%q>\n%s\n</hook>", v.Hook.Source(), strings.ReplaceAll(v.Text, "</hook>", "</ hook>"))
}

// Because says who has said something, and why.
func (v *Voice) Because() string {
	if v.Text == "" {
		return v.Hook.By()
	}
	return v.Hook.By() + ": " + v.Text
}

// Added is all that hooks add, as a model reads it; empty means nothing.
func Added(voices []Voice) string {
	var b strings.Builder
	for _, v := range voices {
		b.WriteString("\n\n" + v.Marked())
	}
	return b.String()
}
