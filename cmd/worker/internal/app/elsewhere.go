package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentworker/worker/internal/workspace"
)

// elsewhereTime bounds the look into other state folders.
const elsewhereTime = 5 * time.Second

// WaitsElsewhere returns the workspaces of the same repository, in other state folders, in which
// something waits for an answer. A worker has another folder if it was started without
// --workspace, --state-dir, --nats or $XDG_STATE_HOME. What can't be opened is left out.
func WaitsElsewhere(ctx context.Context, p *Program, ws *workspace.Workspace) (others []*workspace.Workspace) {
	ctx, cancel := context.WithTimeout(ctx, elsewhereTime)
	defer cancel()
	looked := []string{}
	if p.Settings.NATS == "" {
		looked = append(looked, ws.StateDir)
	}
	plain := func(name string) string {
		if name == "XDG_STATE_HOME" {
			return ""
		}
		return p.Getenv(name)
	}
	for _, getenv := range []func(string) string{p.Getenv, plain} {
		other, err := workspace.Find(&workspace.Options{Dir: p.Settings.Dir, Getenv: getenv})
		if err != nil || slices.Contains(looked, other.StateDir) {
			continue
		}
		looked = append(looked, other.StateDir)
		if waits(ctx, p, other) {
			others = append(others, other)
		}
	}
	return others
}

// waits reports whether something waits for an answer in a workspace that has a state folder.
func waits(ctx context.Context, p *Program, ws *workspace.Workspace) bool {
	if _, err := os.Stat(filepath.Join(ws.StateDir, "nats")); err != nil {
		return false
	}
	s, err := openStorage(ctx, p, ws, "")
	if err != nil {
		return false
	}
	defer s.Close() // nothing was written
	pending, err := s.Records.Approvals.Pending(ctx)
	return err == nil && len(pending) > 0
}
