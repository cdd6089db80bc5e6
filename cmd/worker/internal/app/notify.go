package app

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/pagelink"
	"github.com/agentworker/worker/frontdoor/notify"
	"github.com/agentworker/worker/internal/secrets"
)

// doorsTime is how long a worker that serves may take to open its doors.
const doorsTime = 10 * time.Second

// startNotifier begins to tell people of what happens in the workspace of a worker, as the setting
// notify has it. Tests of agents and replays tell nobody. serves says that the worker opens doors.
func startNotifier(ctx context.Context, p *Program, a *Worker, serves bool) (*notify.Notifier, error) {
	if p.Overrides.Model != nil {
		return nil, nil
	}
	dir, began := a.Workspace.StateDir, time.Now()
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
			link, err := pagelink.Ask(ctx, dir, person, approvalID)
			for serves && errors.Is(err, pagelink.ErrNoPage) && time.Since(began) < doorsTime { // they are being opened
				select {
				case <-time.After(doorsTime / 20):
				case <-ctx.Done():
				}
				link, err = pagelink.Ask(ctx, dir, person, approvalID)
			}
			return link, err
		},
		Logger: p.Logger(),
	})
}
