package ci

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/agentworker/worker/internal/termtext"
)

// What a command escapes in its message and, besides, in the value of a property.
var (
	escapeMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// Location is what an annotation stands beside. A line or column of 0 is not told.
type Location struct {
	File         string // as the repository has it
	Line, Column int
}

// Annotation returns the command that shows a message beside a place of a pull request.
// level is error, warning or notice. Any text may be in the rest: it stays one line.
func Annotation(level string, at Location, title, message string) string {
	place := "file=" + property(at.File)
	if at.Line > 0 {
		place += fmt.Sprintf(",line=%d", at.Line)
	}
	if at.Column > 0 {
		place += fmt.Sprintf(",col=%d", at.Column)
	}
	return fmt.Sprintf("::%s %s,title=%s::%s", level, place, property(title), brackets(escapeMessage.Replace(termtext.OneLine(message, 2000))))
}

// property escapes the value of a property, and what else controls a terminal.
func property(s string) string {
	var b strings.Builder
	for _, r := range escapeProperty.Replace(s) {
		if unicode.IsControl(r) {
			fmt.Fprintf(&b, "%%%02X", r)
		} else {
			b.WriteRune(r)
		}
	}
	return brackets(b.String())
}

// brackets keeps a text from having a command of the older form: no "#" follows another one.
func brackets(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "##", "# #"), "##", "# #") // of three the third follows what the first pass wrote
}
