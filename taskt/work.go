package taskt

import (
	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt/report"
)

// checksOf returns the checks of an agent file, or of a call, as a session makes
// them.
func checksOf(checks []agentdefs.Check) []session.Check {
	made := make([]session.Check, 0, len(checks))
	for _, c := range checks {
		made = append(made, session.Check{Path: c.Path, Command: c.Command, Timeout: c.Timeout()})
	}
	return made
}

// Look looks up the places that an answer names as evidence, if it is a report, while
// the files are as the session has left them: before its end.
func (s *Service) Look(of *session.Session, out *session.Outcome) {
	if out.Err != nil {
		return
	}
	rep := report.Parse(out.Text)
	if rep == nil {
		return
	}
	if found := rep.Look(of.Root(), of.Readable); len(found) > 0 {
		if err := of.SetEvidence(found); err != nil {
			s.log.Error("noting the evidence of an answer", "session", of.ID(), "err", err)
		}
	}
}
