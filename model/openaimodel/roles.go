package openaimodel

import (
	"net/url"
	"strings"
)

// freeOrder are the hosts that take messages in any order of roles. All other servers may hold them to
// the order of a chat template: a message of the user never stands behind a tool's result or
// another of the user (Mistral's API, and the templates of Mistral's and Google's models).
var freeOrder = []string{
	"openai.com", "openai.azure.com", "anthropic.com", "googleapis.com", "deepseek.com", "x.ai", "groq.com",
	"openrouter.ai", "githubcopilot.com", "models.github.ai",
}

// ordersRoles reports whether a server may want the strict order of roles.
func ordersRoles(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return true
	}
	for _, host := range freeOrder {
		if u.Hostname() == host || strings.HasSuffix(u.Hostname(), "."+host) {
			return false
		}
	}
	return true
}

// bridge stands between tools' results and a message of the user, where the strict order wants
// the model's turn. LiteLLM does the same (assistant_continue_message).
const bridge = "I have read the results."

// inOrder returns messages in the strict order of roles: texts of the same role in a row are
// one message, and the model has a turn between tools' results and the user.
func inOrder(messages []message) []message {
	var all []message
	for _, next := range messages {
		if len(all) > 0 && next.Content != nil && len(next.ToolCalls) == 0 {
			last := &all[len(all)-1]
			switch {
			case next.Role == "user" && last.Role == "tool":
				text := bridge
				all = append(all, message{Role: "assistant", Content: &text})
			case next.Role == last.Role && next.Role != "tool" && last.Content != nil && len(last.ToolCalls) == 0:
				joined := *last.Content + "\n\n" + *next.Content
				last.Content = &joined
				continue
			}
		}
		all = append(all, next)
	}
	return all
}
