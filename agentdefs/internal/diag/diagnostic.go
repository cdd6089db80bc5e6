package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Diagnostic is one finding about an agent file or folder.
type Diagnostic struct {
	File     string   `json:"file"`   // as shown to people, slash-separated
	Line     int      `json:"line"`   // 1-based; 0 means the file as a whole
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

// OfFile returns a diagnostic of a file or folder as a whole.
func OfFile(shown, code, fix, message string) Diagnostic { return At(shown, 0, 0, code, fix, message) }

// At returns a diagnostic of a place in a file. Its code decides its severity.
func At(shown string, line, column int, code, fix, message string) Diagnostic {
	return Diagnostic{File: shown, Line: line, Column: column, Severity: severities[code], Code: code, Message: message, Fix: fix}
}

// Sort puts diagnostics in the order of files and places. Those of one place
// stay in their order.
func Sort(ds []Diagnostic) {
	byPlace := func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	}
	if !slices.IsSortedFunc(ds, byPlace) { // they mostly are
		slices.SortStableFunc(ds, byPlace)
	}
}
