package app

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/store"
)

// Complete returns a completion of arguments, once the settings are loaded. With
// several it completes every argument, else only the first. names returns texts, each
// with an optional description after a tab. An argument is completed to the texts that
// begin with it.
func (p *Program) Complete(several bool, names func(ctx context.Context) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !several || p.Settings.Load(p.Getenv) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found := slices.DeleteFunc(names(cmd.Context()), func(text string) bool {
			name, _, _ := strings.Cut(text, "\t")
			return !strings.HasPrefix(name, typed) || slices.Contains(args, name)
		})
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// CompleteSessions completes the ids of the latest sessions, the newest first.
func (p *Program) CompleteSessions(several bool) cobra.CompletionFunc {
	return p.Complete(several, func(ctx context.Context) (ids []string) {
		_ = p.WithSessions(ctx, func(ctx context.Context, sessions *store.Store) error { // no answer: nothing to complete
			page, err := sessions.Index.Page(ctx, index.ListOptions{})
			if err != nil {
				return err
			}
			for _, r := range page.Sessions {
				ids = append(ids, r.ID+"\t"+termtext.OneLine(strings.TrimSpace(r.Agent+" "+r.Description), termtext.MaxName)+", "+string(r.Status))
			}
			return nil
		})
		return ids
	})
}

// CompleteApprovals completes the ids of the calls that wait.
func (p *Program) CompleteApprovals() cobra.CompletionFunc {
	return p.Complete(false, func(ctx context.Context) (ids []string) {
		_ = p.WithSessions(ctx, func(ctx context.Context, sessions *store.Store) error { // no answer: nothing to complete
			pending, err := sessions.Approvals.Pending(ctx)
			for _, a := range pending {
				ids = append(ids, a.ID+"\t"+termtext.OneLine(a.Question.Summary(), termtext.MaxHint))
			}
			return err
		})
		return ids
	})
}

// CompleteAgents completes the names of the agents that want accepts.
func (p *Program) CompleteAgents(want func(*agentdefs.Definition) bool) cobra.CompletionFunc {
	return p.Complete(false, func(context.Context) (names []string) {
		snapshot, err := p.LoadAgents()
		if err != nil {
			return nil
		}
		for _, d := range snapshot.Agents() {
			if want(d) {
				names = append(names, d.Name+"\t"+termtext.OneLine(d.Description, termtext.MaxHint))
			}
		}
		return names
	})
}

// CompleteModels completes the names of models, as --model takes them.
func (p *Program) CompleteModels(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := []string{"offline\ta search by keywords, without a key", settings.HostModel + "\tthe MCP host's own",
		"anthropic/" + settings.DefaultModel("anthropic"), "openai/" + settings.DefaultModel("openai"), "replay/\ta file with the answers"}
	if p.Settings.Load(p.Getenv) != nil {
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	names = append(names, p.Models().Named(&p.Settings)...)
	for _, aliases := range []map[string]string{p.Settings.ModelAliases, settings.BuiltinAliases} {
		for _, name := range slices.Sorted(maps.Keys(aliases)) {
			names = append(names, name+"\t"+aliases[name])
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
