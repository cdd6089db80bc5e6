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

// noteIntro stands before a message of the user that a tool's result carries.
const noteIntro = "\n\n[This is not from the tool. It is the next message to you:]\n"

// inOrder returns messages in the strict order of roles: texts of the same role in a row are
// one message, and the text behind tools' results stands in the last of them.
func inOrder(messages []message) []message {
	var all []message
	for _, next := range messages {
		if len(all) > 0 && next.Content != nil && len(next.ToolCalls) == 0 {
			last := &all[len(all)-1]
			var between string
			switch {
			case next.Role == "user" && last.Role == "tool":
				between = noteIntro
			case next.Role == last.Role && next.Role != "tool" && last.Content != nil && len(last.ToolCalls) == 0:
				between = "\n\n"
			}
			if between != "" {
				joined := *last.Content + between + *next.Content
				last.Content = &joined
				continue
			}
		}
		all = append(all, next)
	}
	return all
}
