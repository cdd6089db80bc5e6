package diag

import "fmt"

// Reporter collects the diagnostics of one file.
type Reporter struct {
	File    string
	Refused bool // an error: nothing is served from this file
	Found   []Diagnostic
}

// Report adds a diagnostic. Its code decides its severity. Column 0 is the line
// as a whole.
func (r *Reporter) Report(code string, line, column int, fix, format string, args ...any) {
	r.Found = append(r.Found, At(r.File, line, max(column, 1), code, fix, fmt.Sprintf(format, args...)))
}

// Refuse reports an error and keeps the file from being served.
func (r *Reporter) Refuse(code string, line, column int, fix, format string, args ...any) {
	r.Refused = true
	r.Report(code, line, column, fix, format, args...)
}
