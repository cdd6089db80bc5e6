package conversation

import (
	"strings"

	"github.com/agentworker/worker/model"
)

// A lasting text is the result of a call of a tool whose results stay when the conversation is
// compacted, such as the text of a skill. It is framed: it begins with LastingOpen, ends with
// LastingClose, and has no other LastingClose.
const (
	LastingOpen  = "<skill_content "
	LastingClose = "</skill_content>"
)

// lastingIntro stands before the lasting texts in the message of a compaction.
const lastingIntro = "What you have loaded before, and still holds:\n"

// Lasting returns the lasting texts in messages, in their order and each once. lasts reports
// whether the results of a tool are such texts.
func Lasting(messages []model.Message, lasts func(tool string) bool) (texts []string) {
	calls, at := make(map[string]bool), make(map[string]int)
	add := func(text string) {
		head, _, _ := strings.Cut(text, "\n")
		if i, ok := at[head]; ok {
			texts[i] = text
			return
		}
		at[head] = len(texts)
		texts = append(texts, text)
	}
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			calls[c.ID] = lasts(c.Name)
		}
		for _, r := range m.ToolResults {
			if calls[r.ToolCallID] && !r.IsError && strings.HasPrefix(r.Text, LastingOpen) && strings.HasSuffix(r.Text, LastingClose) {
				add(r.Text)
			}
		}
		if m.Role != model.User {
			continue
		}
		rest, _ := strings.CutPrefix(m.Text, lastingIntro)
		for text, after := firstLasting(rest); text != ""; text, after = firstLasting(after) {
			if rest != m.Text || strings.HasPrefix(text, noteOpen) { // nobody else tells of skills
				add(text)
			}
		}
	}
	return texts
}

// firstLasting returns the lasting text that a text begins with; empty means it begins with none.
func firstLasting(text string) (first, rest string) {
	end := LastingClose
	switch {
	case strings.HasPrefix(text, LastingOpen):
	case strings.HasPrefix(text, noteOpen):
		end = noteClose
	default:
		return "", text
	}
	first, rest, ok := strings.Cut(text, end+"\n")
	if !ok {
		return "", text
	}
	return first + end, rest
}

// KeepLasting returns what stands before the text of a compaction, of at most room bytes: the
// newest of the lasting texts. Empty means there are none.
func KeepLasting(texts []string, room int) string {
	first := len(texts)
	for first > 0 && len(texts[first-1])+1 <= room {
		first--
		room -= len(texts[first]) + 1
	}
	if first == len(texts) {
		return ""
	}
	return lastingIntro + strings.Join(texts[first:], "\n") + "\n\n"
}

// Given reports whether the conversation has a lasting text that begins with opening, or gets
// it from an earlier call of the step that runs. callID is that of a call which runs.
func (c *Conversation) Given(callID, opening string, lasts func(tool string) bool) bool {
	for _, text := range Lasting(c.Messages, lasts) {
		if strings.HasPrefix(text, opening) {
			return true
		}
	}
	if len(c.Messages) == 0 {
		return false
	}
	step := c.Messages[len(c.Messages)-1].ToolCalls
	for i, call := range step {
		if call.ID != callID {
			continue
		}
		for _, before := range step[:i] {
			if SameCall(before, call) {
				return true
			}
		}
	}
	return false
}
