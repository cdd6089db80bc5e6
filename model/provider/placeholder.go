package provider

import (
	"strings"

	"github.com/agentworker/worker/model"
)

// Placeholders puts who asks in place of {agent} and {session} in the text of a header.
func Placeholders(text string, who model.Asker) string {
	if !strings.Contains(text, "{") {
		return text
	}
	return strings.NewReplacer("{agent}", HeaderText(who.Agent), "{session}", HeaderText(who.Session)).Replace(text)
}

// HeaderText returns a name as it may stand in a list in a header: letters and digits of ASCII, and a few
// signs that separate nothing.
func HeaderText(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-_.@+/:", r) {
			return r
		}
		return '_'
	}, name)
}
