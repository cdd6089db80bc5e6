package notify

import (
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// webhook is the form of programs: Standard Webhooks.
const webhook = "webhook"

// form makes the body of a request of a message, and sets the headers that the form has.
type form func(m *Message, header http.Header) ([]byte, error)

// forms are the bodies that servers take.
var forms = map[string]form{
	webhook: webhookBody, // https://www.standardwebhooks.com
	"slack": slackBody,   // incoming webhooks of Slack, and of Mattermost and Rocket.Chat, which take the same
	"teams": teamsBody,   // the Workflows of Microsoft Teams
	"ntfy":  ntfyBody,    // https://docs.ntfy.sh/publish/
}

// Forms returns the names of the forms, sorted.
func Forms() []string { return slices.Sorted(maps.Keys(forms)) }

func webhookBody(m *Message, header http.Header) ([]byte, error) {
	header.Set("Content-Type", "application/json")
	return json.Marshal(map[string]any{"type": "agentworker." + m.Kind, "timestamp": m.At, "data": m})
}

func slackBody(m *Message, header http.Header) ([]byte, error) {
	header.Set("Content-Type", "application/json")
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;") // else <!channel> would call everybody
	text := "*" + strings.ReplaceAll(escape.Replace(m.Title), "*", "∗") + "*"
	if m.Text != "" {
		text += "\n```\n" + strings.ReplaceAll(escape.Replace(m.Text), "```", "'''") + "\n```"
	}
	return json.Marshal(map[string]string{"text": text + "\n" + escape.Replace(m.footer())})
}

func teamsBody(m *Message, header http.Header) ([]byte, error) {
	header.Set("Content-Type", "application/json")
	type block map[string]any
	run := func(text string, more block) block { // a TextBlock would read Markdown
		r := block{"type": "TextRun", "text": text}
		maps.Copy(r, more)
		return block{"type": "RichTextBlock", "inlines": []block{r}}
	}
	body := []block{run(m.Title, block{"weight": "Bolder"})}
	if m.Text != "" {
		body = append(body, run(m.Text, block{"fontType": "Monospace"}))
	}
	card := block{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
		"body": append(body, run(m.footer(), block{"isSubtle": true})),
	}
	if m.Link != "" {
		card["actions"] = []block{{"type": "Action.OpenUrl", "title": "Answer", "url": m.Link}}
	}
	return json.Marshal(block{
		"type":        "message",
		"attachments": []block{{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}},
	})
}

func ntfyBody(m *Message, header http.Header) ([]byte, error) {
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Title", mime.QEncoding.Encode("utf-8", m.Title))
	if m.Link != "" {
		header.Set("Click", m.Link)
	}
	return []byte(strings.TrimSpace(m.Text + "\n" + m.footer())), nil
}

// footer says where the message comes from, and how its question is answered.
func (m *Message) footer() string {
	switch {
	case m.Link != "":
		return m.Workspace + " · " + m.Link
	case m.ApprovalID != "":
		return m.Workspace + " · worker approvals show " + m.ApprovalID
	}
	return m.Workspace + " · worker sessions show " + m.SessionID
}

// plain is the message for a desktop, without its title.
func (m *Message) plain() string { return strings.TrimSpace(m.Text + "\n" + m.footer()) }
