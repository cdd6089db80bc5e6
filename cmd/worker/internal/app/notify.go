package app

import (
	"context"
	"path/filepath"

	"github.com/agentworker/worker/cmd/worker/internal/pagelink"
	"github.com/agentworker/worker/frontdoor/notify"
	"github.com/agentworker/worker/internal/secrets"
)

// startNotifier begins to tell people of what happens in the workspace of a worker, as the setting
// notify has it. Tests of agents and replays tell nobody.
func startNotifier(ctx context.Context, p *Program, a *Worker) (*notify.Notifier, error) {
	if p.Overrides.Model != nil {
		return nil, nil
	}
	dir := a.Workspace.StateDir
	return notify.Start(ctx, notify.Options{
		Bus:       a.Bus,
		Sessions:  a.Sessions.Store(),
		Targets:   p.Settings.Notify,
		Workspace: filepath.Base(a.Workspace.Root),
		StateDir:  dir,
		Dir:       a.Workspace.Root,
		Shell:     p.Shell(),
		Env:       secrets.Environ(p.withoutKeys()),
		Getenv:    p.Getenv,
		Link: func(ctx context.Context, person, approvalID string) (string, error) {
			return pagelink.Ask(ctx, dir, person, approvalID)
		},
		Logger: p.Logger(),
	})
}
