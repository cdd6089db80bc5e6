package agentdefs

import (
	"fmt"
	"strings"
)

// Severity says what a diagnostic means for the agent it speaks of.
type Severity string

// The severities.
const (
	Error       Severity = "error"       // the file is not served, or served without any tool
	Warning     Severity = "warning"     // served; something was repaired, ignored or is likely wrong
	Information Severity = "information" // served; worth knowing
)

// Diagnostic is one finding about an agent file or folder.
type Diagnostic struct {
	File     string   `json:"file"`   // as shown to people, slash-separated
	Line     int      `json:"line"`   // 1-based; 0: the file as a whole
	Column   int      `json:"column"` // 1-based, in characters; 0 only where Line is
	Severity Severity `json:"severity"`
	Code     string   `json:"code"` // stable, one of the table in codes.go
	Message  string   `json:"message"`
	Fix      string   `json:"fix,omitempty"` // what to do about it
}

// String returns "file:line:col: severity: message (code); fix", without the
// parts that are not known.
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.File)
	if d.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", d.Line, d.Column)
	}
	fmt.Fprintf(&b, ": %s: %s (%s)", d.Severity, d.Message, d.Code)
	if d.Fix != "" {
		b.WriteString("; " + d.Fix)
	}
	return b.String()
}
