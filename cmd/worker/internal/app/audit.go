package app

import (
	"context"
	"os"
	"os/user"

	"github.com/agentworker/worker/session/audit"
)

// OpenAudit opens the audit log of a workspace. It is closed before the storage.
func (p *Program) OpenAudit(ctx context.Context, s *Storage) (*audit.Log, error) {
	return audit.Open(ctx, s.Bus, audit.Options{
		User: thisUser(), MaxBytes: p.Settings.AuditBytes(), MaxAge: p.Settings.AuditAge, Logger: p.Logger(),
	})
}

// thisUser names who runs the process, and on which machine.
func thisUser() string {
	name := "?"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
