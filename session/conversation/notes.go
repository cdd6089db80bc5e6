package conversation

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/agentworker/worker/model"
)

// A note tells what the workspace says about files that the model has come to. It is a lasting
// text: it stays when the conversation is compacted, and is told again only once it is gone.
const (
	noteOpen  = "<workspace_instructions "
	noteClose = "</workspace_instructions>"
)

// maxNotes bounds the notes in a conversation, in bytes. A later one names its file alone.
const maxNotes = 32 << 10

// Note is what a file says about some files.
type Note struct{ File, Text string }

var noteTags = regexp.MustCompile(`(?i)<([^\pL<>]*workspace_)`)

var noteAttribute = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ")

// Notes returns the message for those of the notes that the conversation does not have; empty
// means that it has all of them.
func (c *Conversation) Notes(notes []Note) string {
	if len(notes) == 0 {
		return ""
	}
	has, room := make(map[string]bool), maxNotes
	for _, text := range Lasting(c.Messages, func(string) bool { return false }) {
		if strings.HasPrefix(text, noteOpen) {
			head, _, _ := strings.Cut(text, "\n")
			has[head] = true
			room -= len(text)
		}
	}
	var b strings.Builder
	for _, n := range notes {
		head := noteOpen + `file="` + noteAttribute.Replace(n.File) + `">`
		if has[head] {
			continue
		}
		has[head] = true
		text := noteTags.ReplaceAllString(n.Text, "&lt;$1")
		if room -= len(text); room < 0 {
			text = "[There is no room for it here: read the file.]"
		}
		fmt.Fprintf(&b, "%s\n%s\n%s\n", head, text, noteClose)
	}
	return b.String()
}

// LastCalls returns the calls of the last step that have succeeded, if nothing but messages of
// the user has followed their results.
func (c *Conversation) LastCalls() (done []model.ToolCall) {
	for i := len(c.Messages) - 1; i > 0 && c.Messages[i].Role == model.User; i-- {
		results := c.Messages[i].ToolResults
		if len(results) == 0 {
			continue
		}
		failed := make(map[string]bool)
		for _, r := range results {
			failed[r.ToolCallID] = r.IsError
		}
		for _, call := range c.Messages[i-1].ToolCalls {
			if f, ok := failed[call.ID]; ok && !f {
				done = append(done, call)
			}
		}
		return done
	}
	return nil
}
