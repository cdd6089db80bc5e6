package agentdefs

import (
	"log/slog"
	"os"
	"time"

	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/scan"
	"github.com/agentworker/worker/agentdefs/internal/watch"
	"github.com/agentworker/worker/internal/disk"
)

// Options configures loading. The zero value is ready to use.
type Options struct {
	// Nesting leaves out the rule "task: deny" that otherwise ends every agent's
	// ruleset. The program that starts agents then limits their depth.
	Nesting bool

	// MaxSteps is the default for files without maxSteps, 1 to [MaxMaxSteps]. 0 means
	// [DefaultMaxSteps]; files in another tool's form get that tool's default.
	MaxSteps int

	// Home is the folder that "~/" and "$HOME/" mean in patterns; empty means
	// the user's.
	Home string

	// UserDir is the user's own folder of agent files, read with its subfolders
	// before the workspace's; it may be empty, or a folder that does not exist yet.
	UserDir string

	// WithoutWorkspace says why the folder of agent files that the workspace has is not
	// read; empty means it is.
	WithoutWorkspace string

	// Dirs are further folders, read with their subfolders after the
	// workspace's; each must exist. One that vanishes from below a [Registry]
	// is a diagnostic until it is back.
	Dirs []string

	// From names the folders of other tools that are read too, see [Sources]:
	// after UserDir and before the workspace's, in this order. "all" is all.
	From []string

	// ToolsHome is the folder below which other tools keep the agents of the
	// user, as in .claude/agents; empty means they are not looked for.
	ToolsHome string

	// KnownModel reports whether a file may name this model or alias; nil means any.
	KnownModel func(name string) bool

	// KnownSkill reports whether there is a skill of this name, in small letters; nil
	// means any.
	KnownSkill func(name string) bool

	// Tools names the tools that there are, which the built-in agents tell of;
	// nil means not known, and nothing is said of them.
	Tools []string

	// PollEvery is how often a [Registry] looks for changes where the system
	// cannot tell it of them; 0 means 2 s.
	PollEvery time.Duration

	// RescanEvery is how often a [Registry] reads everything again; 0 means 30 s. It
	// finds changes without an event: writes through a memory mapping or a hard link,
	// or a file system mounted over a folder. It takes at most a hundredth of the time,
	// and comes less often where it would take more.
	RescanEvery time.Duration

	// Logger gets each file that is not served or stale, once for each
	// change of the file; nil discards them.
	Logger *slog.Logger

	disk  disk.System  // tests replace parts of it
	watch watch.System // the same
}

// What holds where [Options] say nothing.
const (
	defaultPoll   = 2 * time.Second
	defaultRescan = 30 * time.Second
)

// complete returns a copy of opts with its defaults filled in.
func (opts *Options) complete() *Options {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // without one, patterns with "~/" are refused
	}
	if o.PollEvery <= 0 {
		o.PollEvery = defaultPoll
	}
	if o.RescanEvery <= 0 {
		o.RescanEvery = defaultRescan
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.disk, o.watch = o.disk.Complete(), o.watch.Complete()
	return &o
}

// folders is the part of opts about what is read.
func (opts *Options) folders() scan.Options {
	return scan.Options{UserDir: opts.UserDir, From: opts.From, ToolsHome: opts.ToolsHome, Dirs: opts.Dirs, WithoutWorkspace: opts.WithoutWorkspace}
}

// files is the part of opts about what a file means.
func (opts *Options) files() definition.Options {
	return definition.Options{Home: opts.Home, Nesting: opts.Nesting, MaxSteps: opts.MaxSteps, KnownModel: opts.KnownModel, KnownSkill: opts.KnownSkill}
}
