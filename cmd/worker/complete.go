package main

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

// completeSessions completes, for the shell, the ids of the newest sessions, the newest
// first. several says that the command takes more than one.
func (p *program) completeSessions(several bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !several || p.settings.Load(p.getenv) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var ids []string
		_ = p.withSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error { // no answer: nothing to complete
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

// completeModels completes the names of models, as --model takes them.
func (p *program) completeModels(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := []string{"offline\ta search by keywords, without a key", settings.HostModel + "\tthe MCP host's own",
		"anthropic/" + settings.DefaultAnthropicModel, "openai/" + settings.DefaultOpenAIModel, "replay/\ta file with the answers"}
	if p.settings.Load(p.getenv) != nil {
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	for _, aliases := range []map[string]string{p.settings.ModelAliases, settings.BuiltinAliases} {
		for _, name := range slices.Sorted(maps.Keys(aliases)) {
			names = append(names, name+"\t"+aliases[name])
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeApprovals completes the ids of the calls that wait.
func (p *program) completeApprovals(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || p.settings.Load(p.getenv) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	_ = p.withSessions(cmd.Context(), func(ctx context.Context, sessions *store.Store) error { // no answer: nothing to complete
		pending, err := sessions.Approvals(ctx)
		for _, a := range pending {
			ids = append(ids, a.ID+"\t"+termtext.OneLine(a.Tool+" "+strings.Join(a.Patterns, ", "), 80))
		}
		return err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// completeAgents completes, for the shell, the names of those agents that want
// accepts.
func (p *program) completeAgents(want func(*agentdefs.Definition) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || p.settings.Load(p.getenv) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.agentNames(want), cobra.ShellCompDirectiveNoFileComp
	}
}

func (p *program) agentNames(want func(*agentdefs.Definition) bool) []string {
	snapshot, err := p.loadAgents()
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
