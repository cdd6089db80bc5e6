package model

import "strings"

// maxToolName is the longest name of a tool that all APIs take, in characters:
// https://platform.openai.com/docs/api-reference/chat/create#tools
const maxToolName = 64

// ToolName returns the name of a tool as the APIs take it in a conversation: letters, digits, _
// and -, up to 64 of them. Models make up names that have others, and one such name would have
// every later request refused.
func ToolName(name string) string {
	legal := func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}
	if name = strings.Map(legal, name); name == "" {
		return "unnamed"
	}
	return name[:min(len(name), maxToolName)]
}

// MeantTool returns the known tool that a made-up name means, else the name itself. Models put
// a namespace before a name, or a token of their own format after it.
func MeantTool(name string, known func(name string) bool) string {
	if known(name) {
		return name
	}
	meant, _, _ := strings.Cut(name, "<|")
	if i := strings.LastIndexAny(meant, ".:/"); i >= 0 {
		meant = meant[i+1:]
	}
	meant = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(meant)), " ", "_")
	if known(meant) {
		return meant
	}
	return name
}
