package app

import (
	"context"
	"errors"
	"os"
	"os/user"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/store"
)

// OpenAudit opens the audit log of a workspace. It is closed before the storage.
func (p *Program) OpenAudit(ctx context.Context, s *Storage) (*audit.Log, error) {
	return audit.Open(ctx, s.Bus, audit.Options{
		User: thisUser(), MaxBytes: p.Settings.AuditBytes(), MaxAge: p.Settings.AuditAge, Logger: p.Logger(),
	})
}

// auditEnds records in the audit log that sessions of killed processes were ended.
func (s *Storage) auditEnds(ctx context.Context, ended []*store.Record) error {
	if len(ended) == 0 {
		return nil
	}
	log, err := audit.Open(ctx, s.Bus, audit.Options{User: thisUser()})
	if err != nil {
		return err
	}
	for _, r := range ended {
		err = errors.Join(err, log.Add(session.EndRecord(r)))
	}
	return errors.Join(err, log.Close())
}

// thisUser names the user of the process and the machine.
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
