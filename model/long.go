package model

import (
	"regexp"
	"strings"
)

// LongWindow is how many tokens the window of a model has that is named with the mark "[1m]".
const LongWindow = 1_000_000

// LongBeta is the value of the header Anthropic-Beta by which a server gives a model the long window.
// Claude Code cuts the mark off a name, and sends this instead
// (https://github.com/deepseek-ai/awesome-deepseek-agent/issues/23). Models from Claude Opus 4.6 and
// Sonnet 4.6 on have the window without it. Anthropic's own API has given it to no model since
// 2026-04-30 (https://clauder-navi.com/en/context-1m-deprecation-sonnet-46), and ignores it. Gateways
// may want it.
const LongBeta = "context-1m-2025-08-07"

// longMark is how Claude Code's names end for a model with the long window.
const longMark = "[1m]"

// CutLong returns a name of a model without the mark of a long window, and whether it had that.
func CutLong(name string) (plain string, long bool) {
	if i := len(name) - len(longMark); i >= 0 && strings.EqualFold(name[i:], longMark) {
		return strings.TrimSpace(name[:i]), true
	}
	return name, false
}

// WithLong returns a name with the mark of a long window, if the model may have one: Claude's from
// Sonnet 4, Opus 4.6, and all of Claude 5 on
// (https://platform.claude.com/docs/en/build-with-claude/context-windows).
func WithLong(name string) string {
	if haveLong.MatchString(name) {
		return name + longMark
	}
	return name
}

var haveLong = regexp.MustCompile(`(^|/)claude-(sonnet-4|opus-4[-.][6-9]|[a-z]+-([5-9]|[1-9]\d))([-.@:]|$)`)
