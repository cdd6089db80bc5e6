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
	"github.com/agentworker/worker/session/store"
)

// CompleteSessions completes, for the shell, the ids of the newest sessions, the newest
// first. several says that the command takes more than one.
func (p *Program) CompleteSessions(several bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !several || p.Settings.Load(p.Getenv) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var ids []string
		_ = p.WithSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error { // no answer: nothing to complete
			page, err := sessions.Page(ctx, store.ListOptions{})
			if err != nil {
				return err
			}
			for _, r := range page.Sessions {
				if strings.HasPrefix(r.ID, typed) && !slices.Contains(args, r.ID) {
					ids = append(ids, r.ID+"\t"+termtext.OneLine(strings.TrimSpace(r.Agent+" "+r.Description), 60)+", "+string(r.Status))
				}
			}
			return nil
		})
		return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// CompleteModels completes the names of models, as --model takes them.
func (p *Program) CompleteModels(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := []string{"offline\ta search by keywords, without a key", settings.HostModel + "\tthe MCP host's own",
		"anthropic/" + settings.DefaultAnthropicModel, "openai/" + settings.DefaultOpenAIModel, "replay/\ta file with the answers"}
	if p.Settings.Load(p.Getenv) != nil {
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	for _, aliases := range []map[string]string{p.Settings.ModelAliases, settings.BuiltinAliases} {
		for _, name := range slices.Sorted(maps.Keys(aliases)) {
			names = append(names, name+"\t"+aliases[name])
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteApprovals completes the ids of the calls that wait.
func (p *Program) CompleteApprovals(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || p.Settings.Load(p.Getenv) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	_ = p.WithSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error { // no answer: nothing to complete
		pending, err := sessions.Approvals(ctx)
		for _, a := range pending {
			ids = append(ids, a.ID+"\t"+termtext.OneLine(a.Tool+" "+strings.Join(a.Patterns, ", "), 80))
		}
		return err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// CompleteAgents completes, for the shell, the names of those agents that want
// accepts.
func (p *Program) CompleteAgents(want func(*agentdefs.Definition) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || p.Settings.Load(p.Getenv) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.agentNames(want), cobra.ShellCompDirectiveNoFileComp
	}
}

func (p *Program) agentNames(want func(*agentdefs.Definition) bool) []string {
	snapshot, err := p.LoadAgents()
	if err != nil {
		return nil
	}
	var names []string
	for _, d := range snapshot.Agents() {
		if want(d) {
			names = append(names, d.Name+"\t"+termtext.OneLine(d.Description, 80))
		}
	}
	return names
}
