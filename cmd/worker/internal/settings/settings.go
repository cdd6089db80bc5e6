// Package settings holds what a user can set. Each setting has a flag, an environment
// variable and a key in the config file. API keys and the names of models are here, too.
//
// To add a setting, add a field and register a flag, in the file of its kind. The variable
// and the key follow from the flag's name.
package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/tailscale/hujson"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/notify"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/internal/ownpath"
	"github.com/agentworker/worker/internal/spendlimit"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/tool/lsp"
)

// Settings are the flags that all commands share. Each has an environment
// variable (--state-dir: WORKER_STATE_DIR) and a key in the config file
// (stateDir). A flag beats the environment, which beats the file.
type Settings struct {
	Dir       string
	Workspace string
	StateDir  string
	Model     string

	ModelAliases ModelAliases
	AgentModels  map[string]string // by the names of agents, in lower case
	AgentEfforts map[string]string // words of model.Efforts, likewise
	AgentKeys    AgentKeys
	ReviewModel  string // judges the calls that rules ask about, before a person is asked; empty means nobody does
	RouteModel   string // picks the models of subagents for which none is named; empty means nobody does
	AgentsDirs   []string
	AgentsFrom   []string // tools whose folders of agent files are read, or all

	instructionsFrom []string // kinds of instructions, and words for several

	Providers      []*Provider // shared by copies of the settings
	wrongProviders error       // with the setting "providers"
	configText     []byte      // of the config file, without its comments

	NATS     string
	Access   eventbus.Access // to nats
	DoorKey  string          // the file of the key with which serve answers over TLS
	Replicas int             // there
	Lease    time.Duration   // how long this process may be silent there

	SharedFiles bool // all workers of the workspace have the same files

	LogLevel slog.Level
	Timeout  time.Duration

	// BackgroundTimeout is how long a subagent in the background may run.
	BackgroundTimeout time.Duration

	rules

	Shell string // the name or path of the shell that runs commands; empty means the default

	MaxPause time.Duration // how long agents wait for a provider that asks for a pause

	// StallTimeout is the time without an event after which a subagent has stalled; after
	// the same time again it is stopped. 0 means it is never stopped. Then a stall is
	// reported after StallNotice; 0 means never.
	StallTimeout, StallNotice time.Duration

	limits

	ModelTimeout time.Duration
	ModelTotal   time.Duration
	MaskForModel bool
	ToolTimeout  time.Duration
	Prices       string // the file of the prices of models; empty means the built-in ones

	ContextWindow ContextWindow

	// ApprovalTimeout is how long a call waits for approval. 0 means the default
	// where somebody may answer, and no waiting where nobody is.
	ApprovalTimeout time.Duration

	Budget taskt.Budget // of a caller's task, or of a primary agent, with all below it

	Sandbox Sandbox
	Policy  string // the file of a further policy; empty means only the machine's

	retentionFlags
	MCP mcpSettings

	times times

	// MCPServers are those of the user, in the setting mcpServers; MCPFrom are programs whose
	// files of servers are read too, or all.
	MCPServers []*mcpconfig.Server
	MCPFrom    []string

	// LanguageServers are those of the user, in the setting lsp. NoLanguageServers says that none runs.
	LanguageServers   []*lsp.Server
	NoLanguageServers bool

	// Hooks are those of the user, in the setting hooks; HooksFrom are programs whose files of
	// the user have some.
	Hooks     []*hookconfig.Hook
	HooksFrom []string

	// Notify has the targets of messages to people.
	Notify      []notify.Target
	wrongNotify error

	searchSettings

	groups []Group
	flags  *pflag.FlagSet // of all groups
}

// Group is a group of settings, as help shows them.
type Group struct {
	Title string
	Flags *pflag.FlagSet // in the order in which they are shown
}

// Groups returns all settings, the most common ones first.
func (s *Settings) Groups() []Group { return s.groups }

// group begins a group of settings.
func (s *Settings) group(title string) *pflag.FlagSet {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	flags.SortFlags = false
	s.groups = append(s.groups, Group{title, flags})
	return flags
}

// Register adds the flags of all settings to those of a command. A setting is
// one flag here; its variable and its key in the config file follow from its name.
func (s *Settings) Register(command *pflag.FlagSet) {
	s.LogLevel = slog.LevelError
	s.ModelAliases, s.AgentModels, s.AgentEfforts = ModelAliases{}, map[string]string{}, map[string]string{}

	flags := s.group("Common flags")
	flags.StringVar(&s.Dir, "dir", "", "start in this folder; the workspace is its git top level, else the folder (default: the current folder)")
	flags.Var(modelList(&s.Model), "model", "offline, host (the MCP host's own), PROVIDER/NAME, replay/FILE or an alias; several with commas between: the next one answers once one has failed (default: by the API key that is set, else offline)")
	s.times.add(flags, &s.Timeout, "timeout", 5*time.Minute, upToDay, "how long a subagent may run, 1s to 24h")
	s.times.add(flags, &s.BackgroundTimeout, "background-timeout", 30*time.Minute, upToDay, "how long a subagent in the background may run, 1s to 24h")
	flags.StringVar(&s.Workspace, "workspace", "", "name of the workspace (default: the folder's name and a hash of its path)")

	flags = s.group("The workspace")
	from := list(&s.AgentsFrom, "list", "write a list of names, or all", checkSource)
	flags.StringVar(&s.StateDir, "state-dir", "", "folder for sessions, events and permissions.jsonc (default: $XDG_STATE_HOME/agentworker/<workspace>)")
	flags.Var(folders(func() string { return strings.Join(s.AgentsDirs, string(os.PathListSeparator)) }, s.addAgentsDir), "agents-dir", "a further folder of agent files, read after the workspace's; can be given more than once")
	s.rules.register(flags)
	flags.StringVar(&s.Shell, "shell", "", "the shell that runs commands, called as SHELL -c -- COMMAND (default: bash, else sh; on Windows that of Git for Windows)")
	flags.Var(from, "agents-from", "tools whose folders of agent files are read too, with commas between, or all ("+strings.Join(agentdefs.Sources(), ", ")+")")
	s.registerInstructions(flags)
	flags.TextVar(&s.LogLevel, "log-level", s.LogLevel, "debug, info, warn or error")

	flags = s.group("Models")
	flags.Var(pairs(s.ModelAliases, "NAME=MODEL", false, cutAlias), "model-alias", "a name for a model, as agent files may use it; can be given more than once")
	flags.Var(agentValues(s.AgentModels, true), "agent-model", "the model of an agent whose file names none, or several with commas between, as AGENT=MODEL; can be given more than once")
	flags.Var(agentValues(s.AgentEfforts, false), "agent-effort", "how hard the model of an agent is to think whose file does not say, as AGENT=EFFORT; can be given more than once")
	flags.StringVar(&s.ReviewModel, "review", "", "a model that judges the calls that rules ask about, before a person is asked (default: none)")
	flags.StringVar(&s.RouteModel, "route-model", "", "a cheap model that picks, of those of --model-alias, the one of each subagent for which none is named (default: the caller's model)")
	flags.Var(s.AgentKeys.value(), "agent-key", "where the API key of an agent is, as AGENT/PROVIDER=env:VARIABLE, file:PATH or command:COMMAND; can be given more than once (default: that of all agents)")
	s.times.add(flags, &s.ModelTimeout, "model-timeout", 2*time.Minute, span{time.Second, maxSilence, false}, "how long a model may be silent in one call, 1s to 30m")
	s.times.add(flags, &s.ModelTotal, "model-total", 30*time.Minute, span{time.Second, maxTotal, false}, "how long one model call may take, its tries and the waits between them included, 1s to 24h")
	flags.BoolVar(&s.MaskForModel, "mask-for-model", false, "replace what looks like a credential before a model reads it; file tools get it back")
	s.times.add(flags, &s.ToolTimeout, "tool-timeout", 30*time.Second, span{time.Second, time.Hour, false}, "how long one call of a tool may take that has no time limit of its own, 1s to 1h")
	flags.Var(file(&s.Prices), "prices", "a file with the prices of models, in the form of https://models.dev/api.json (default: built-in ones)")
	s.ContextWindow.register(flags)
	s.times.add(flags, &s.MaxPause, "max-pause", 30*time.Minute, upToDay, "how long agents wait for a provider that says when to ask again, 1s to 24h")
	s.registerProviders(flags)

	flags = s.group("Limits")
	s.limits.register(flags)
	s.times.add(flags, &s.StallNotice, "stall-notice", 5*time.Minute, upToDay.orZero(), "after what time without an event an agent is said to have stalled, 1s to 24h; 0: never")
	s.times.add(flags, &s.StallTimeout, "stall-timeout", 0, upToDay.orZero(), "in place of it: after what time that is said, and after what time more the agent is stopped, 1s to 24h (default: it is not stopped)")
	budget := parsed(&s.Budget, "LIMITS", spendlimit.Parse)
	budget.config = func(raw json.RawMessage, _ string) error { return json.Unmarshal(raw, &s.Budget) } // a text or an object
	flags.Var(budget, "budget", "what a task may use with all that it starts, such as tokens=200k,cost=1.50,modelCalls=40,toolCalls=100,time=10m,then=ask (default: no limit)")
	s.times.add(flags, &s.ApprovalTimeout, "approval-timeout", 0, upToDay.orZero(), "how long a tool call waits for approval, 1s to 24h (default: 10m; without a terminal, 'task' and 'run' refuse it at once)")

	flags.Var(file(&s.Policy), "policy", "a file that forbids more than the machine's policy does, in its form (default: the machine's policy alone)")

	s.Sandbox.register(s.group("The sandbox"))
	s.retentionFlags.register(s.group("What is kept"))

	flags = s.group("NATS")
	flags.StringVar(&s.NATS, "nats", "", "URL of a NATS server with JetStream, several with commas between (default: a server within this process)")
	s.registerAccess(flags)
	flags.BoolVar(&s.SharedFiles, "shared-files", false, "all workers of the workspace, on whatever machine, have the same files: each may take over the sessions of the others")
	s.times.add(flags, &s.Lease, "lease", lease.MinDuration, span{lease.MinDuration, lease.MaxDuration, false}, "how long this process may be cut off from the server, or stopped, before others end or resume its sessions, 20s to 10m")

	s.MCP.register(s.group("MCP hosts"), &s.times)
	flags = s.group("The web, MCP and language servers")
	s.searchSettings.register(flags)
	s.registerServers(flags)
	s.registerHooks(flags)
	s.registerLanguageServers(flags)

	s.flags = pflag.NewFlagSet("settings", pflag.ContinueOnError)
	s.flags.SortFlags = false // as the config file's keys are listed
	for _, group := range s.groups {
		s.flags.AddFlagSet(group.Flags)
	}
	command.AddFlagSet(s.flags)
}

// all returns the flags of the settings, in order.
func (s *Settings) all() []*pflag.Flag {
	var all []*pflag.Flag
	s.flags.VisitAll(func(f *pflag.Flag) { all = append(all, f) })
	return all
}

// Load sets from the environment and the config file what no flag has set, and checks the
// values. Its errors name the flag, the variable or the key.
func (s *Settings) Load(getenv func(string) string) error {
	file, path, err := s.readConfig(getenv)
	if err != nil {
		return err
	}
	for _, flag := range s.all() {
		name := flag.Name
		own, _ := flag.Value.(*value)
		adds := own != nil && own.adds
		byFlag, byEnv := s.given(name, getenv)
		env := variable(name)
		if text := getenv(env); text != "" && (adds || !byFlag) {
			if err := setEnv(flag.Value, text); err != nil {
				return fmt.Errorf("%s: %q: %w", env, text, err)
			}
		}
		if value, ok := file[configKey(name)]; ok && (adds || !byFlag && !byEnv) {
			if err := setConfig(flag.Value, value, filepath.Dir(path)); err != nil {
				return fmt.Errorf("%s: %s: %s: %w", path, configKey(name), value, err)
			}
		}
	}
	for agent, effort := range s.AgentEfforts {
		if !model.IsEffort(effort) {
			return fmt.Errorf("agent-effort: %s: the effort %q is none of %s", agent, effort, strings.Join(model.Efforts, ", "))
		}
	}
	for _, check := range []func() error{func() error { return s.ModelAliases.check(s.HasProvider) }, s.checkAgentKeys, s.checkProviders, s.checkNotify, s.checkAccess, s.retentionFlags.check, s.MCP.check, s.limits.check, s.times.check, s.ContextWindow.check, func() error { return s.searchSettings.check(getenv) }} {
		if err := check(); err != nil {
			return err
		}
	}
	s.leave(getenv)
	if s.Shell != "" {
		path, err := ownpath.Look(s.Shell)
		if err == nil {
			s.Shell, err = filepath.Abs(path)
		}
		if err != nil {
			return fmt.Errorf("shell %q: %w: name a program of PATH, or its path", s.Shell, err)
		}
	}
	return nil
}

// leave has the worker run no program that an agent can write: the workspace may be in PATH. A
// workspace that is not found is an error of the command that needs it.
func (s *Settings) leave(getenv func(string) string) {
	if ws, err := workspace.Find(&workspace.Options{Dir: s.Dir, Name: s.Workspace, StateDir: s.StateDir, Getenv: getenv}); err == nil {
		ownpath.Leave(ws.Root, ws.StateDir, ws.StateHome)
	}
	for _, folder := range s.Sandbox.Folders {
		if folder.Access == sandbox.Write {
			ownpath.Leave(folder.Path)
		}
	}
}

// given reports whether a setting, or a rival of it, is on the command line, and whether it
// is in the environment.
func (s *Settings) given(name string, getenv func(string) string) (byFlag, byEnv bool) {
	rivals, own := s.rivals(name)
	for _, rival := range rivals {
		byFlag = byFlag || s.flags.Changed(rival)
		byEnv = byEnv || getenv(variable(rival)) != ""
	}
	return byFlag, byEnv || own != "" && getenv(own) != ""
}

// variable returns a flag's variable: state-dir is WORKER_STATE_DIR.
func variable(flag string) string {
	return "WORKER_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setEnv sets a flag to what its environment variable says.
func setEnv(flag pflag.Value, text string) error {
	if v, ok := flag.(*value); ok && v.env != nil {
		return v.env(text)
	}
	return flag.Set(text)
}

// setConfig sets a flag to what the config file, in dir, says: a text, which may
// be empty for the default, or a number.
func setConfig(flag pflag.Value, raw json.RawMessage, dir string) error {
	if v, ok := flag.(*value); ok && v.config != nil {
		return v.config(raw, dir)
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	if text == "" {
		return nil
	}
	return flag.Set(text)
}

// addAgentsDir adds a folder of agent files.
func (s *Settings) addAgentsDir(path string) error {
	path, err := folder(path)
	if err == nil {
		s.AgentsDirs = append(s.AgentsDirs, path)
	}
	return err
}

func checkSource(name string) error {
	if name != "all" && !slices.Contains(agentdefs.Sources(), name) {
		return fmt.Errorf("unknown source %q (use all, or some of %s)", name, strings.Join(agentdefs.Sources(), ", "))
	}
	return nil
}

// configKey returns a flag's key in the config file: state-dir is stateDir.
func configKey(flag string) string {
	if flag == "model-alias" {
		return "modelAliases" // an object
	}
	parts := strings.Split(flag, "-")
	for i := range parts[1:] {
		parts[i+1] = strings.ToUpper(parts[i+1][:1]) + parts[i+1][1:]
	}
	return strings.Join(parts, "")
}

// configName is the name of the config file.
const configName = "config.jsonc"

// maxConfig bounds the config file, in bytes.
const maxConfig = 4 << 20

// readConfig reads the config file, JSON with comments, if there is one.
func (s *Settings) readConfig(getenv func(string) string) (values map[string]json.RawMessage, path string, err error) {
	dir, err := workspace.ConfigDir(getenv)
	if err != nil {
		return nil, "", err
	}
	path = filepath.Join(dir, configName)
	data, err := boundedfile.Read(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, nil
	}
	if err != nil {
		return nil, path, fmt.Errorf("reading the config file: %w", err)
	}
	plain, err := hujson.Standardize(data)
	if err != nil {
		return nil, path, fmt.Errorf("%s: %w", path, err)
	}
	s.configText = plain
	if err := json.Unmarshal(plain, &values); err != nil {
		return nil, path, fmt.Errorf("%s: %w", path, err)
	}
	var known []string
	for _, flag := range s.all() {
		known = append(known, configKey(flag.Name))
	}
	for key := range values {
		if !slices.Contains(known, key) {
			return nil, path, fmt.Errorf("%s: unknown key %q (known: %s)", path, key, strings.Join(known, ", "))
		}
	}
	return values, path, nil
}
