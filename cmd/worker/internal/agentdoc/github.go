package agentdoc

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/termtext"
)

// annotationLevels are GitHub's words for severities.
var annotationLevels = map[agentdefs.Severity]string{
	agentdefs.Error: "error", agentdefs.Warning: "warning", agentdefs.Information: "notice",
}

// What GitHub's workflow commands escape in a message and, besides, in the
// value of a property.
var (
	escapeMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// escapeControl escapes what else controls a terminal.
func escapeControl(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) {
			fmt.Fprintf(&b, "%%%02X", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// WriteGitHub writes workflow commands that show findings beside the lines of a
// pull request.
func WriteGitHub(w io.Writer, found []agentdefs.Diagnostic) error {
	for _, d := range found {
		if _, err := fmt.Fprintln(w, annotation(d)); err != nil {
			return err
		}
	}
	return nil
}

func annotation(d agentdefs.Diagnostic) string {
	place := "file=" + escapeControl(escapeProperty.Replace(d.File))
	if d.Line > 0 {
		place += fmt.Sprintf(",line=%d,col=%d", d.Line, d.Column)
	}
	message := d.Message
	if d.Fix != "" {
		message += "; " + d.Fix
	}
	return fmt.Sprintf("::%s %s,title=%s::%s", annotationLevels[d.Severity], place, escapeProperty.Replace(d.Code),
		escapeMessage.Replace(termtext.OneLine(message, 2000)))
}
