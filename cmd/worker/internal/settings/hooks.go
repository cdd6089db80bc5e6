package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/internal/hookconfig"
)

// registerHooks adds the flags of hooks around the calls of agents, and of messages to people.
func (s *Settings) registerHooks(flags *pflag.FlagSet) {
	flags.Var(s.hooksValue(), "hooks", "hooks around the calls of agents, an object of events as in .claude/settings.json")
	flags.Var(s.notifyValue(), "notify", "who is told of questions and ends away from the screen, an array of targets (docs/guide/notify.md)")
	from := list(&s.HooksFrom, "list", "write a list of names, or all", func(name string) error {
		if name != "all" && !slices.Contains(hookconfig.Programs(), name) {
			return fmt.Errorf("unknown program %q (use all, or some of %s)", name, strings.Join(hookconfig.Programs(), ", "))
		}
		return nil
	})
	flags.Var(from, "hooks-from", "programs whose hooks of yours run too, with commas between, or all ("+strings.Join(hookconfig.Programs(), ", ")+")")
}

// hooksValue returns the setting hooks.
func (s *Settings) hooksValue() *value {
	read := func(data []byte, from string) error {
		hooks, err := hookconfig.Parse(data)
		for _, h := range hooks {
			h.File = from
		}
		s.Hooks = append(s.Hooks, hooks...)
		return err
	}
	return &value{
		kind: "JSON", adds: true,
		show: func() string {
			var events []string
			for _, h := range s.Hooks {
				events = append(events, string(h.Event))
			}
			slices.Sort(events)
			return strings.Join(slices.Compact(events), ",")
		},
		set:    func(text string) error { return read([]byte(text), "--hooks") },
		env:    func(text string) error { return read([]byte(text), "WORKER_HOOKS") },
		config: func(raw json.RawMessage, _ string) error { return read(raw, "the config file") },
	}
}
