package agents

import (
	"fmt"
	"io"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/ci"
)

// annotationLevels are GitHub's words for severities.
var annotationLevels = map[agentdefs.Severity]string{
	agentdefs.Error: "error", agentdefs.Warning: "warning", agentdefs.Information: "notice",
}

// WriteGitHub writes workflow commands that show findings beside the lines of a
// pull request.
func WriteGitHub(w io.Writer, found []agentdefs.Diagnostic) error {
	for _, d := range found {
		at := ci.Location{File: d.File}
		if d.Line > 0 {
			at.Line, at.Column = d.Line, d.Column
		}
		message := d.Message
		if d.Fix != "" {
			message += "; " + d.Fix
		}
		if _, err := fmt.Fprintln(ci.Raw(w), ci.Annotation(annotationLevels[d.Severity], at, d.Code, message)); err != nil {
			return err
		}
	}
	return nil
}
