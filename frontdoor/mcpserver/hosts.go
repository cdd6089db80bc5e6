package mcpserver

import (
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// host is what is known of the hosts whose clients' names begin with prefix.
// docs/hosts.md has where the figures come from.
type host struct {
	prefix string // in small letters

	// limit is when the host gives up on a call, progress or not, and idle when
	// it does without progress. 0: it doesn't.
	limit, idle time.Duration

	text size // of a result that reaches its model whole

	calls   turns // of one turn
	ownEnum bool  // it refuses an agentType that is not in the enum it knows

	form form // of an approval

	// cancelsLate: when it gives up on a call it cancels it, without saying why.
	cancelsLate bool
}

// turns is how a host runs the calls of one turn.
type turns uint8

const (
	oneByOne         turns = iota // or nothing is known
	abreastIfReading              // side by side where the tool is read-only
	abreast                       // side by side
)

// form is how a host shows the form of an approval.
type form struct {
	rows     int  // of the message that its user sees for certain, as far as was seen; 0: all
	noReason bool // it can't be sent while a text field is empty
}

// size is how long a text may be. The zero value is any length.
type size struct {
	max int
	in  measure
}

// measure is what a host counts.
type measure uint8

const (
	utf16Units measure = iota // as hosts written in JavaScript do
	utf8Bytes
	jsonUnits // UTF-16 units of the text within JSON, as JSON.stringify writes it
)

func (s size) of(text string) int {
	n := 0
	for _, r := range text {
		n += s.ofRune(r)
	}
	return n
}

func (s size) ofRune(r rune) int {
	switch {
	case s.in == utf8Bytes:
		return utf8.RuneLen(r)
	case s.in == jsonUnits && strings.ContainsRune("\"\\\n\r\t\b\f", r):
		return 2
	case s.in == jsonUnits && r < ' ':
		return len(`\u0000`)
	default:
		return utf16.RuneLen(r)
	}
}

func (s size) fits(text string) bool { return s.max == 0 || s.of(text) <= s.max }

// hosts are those that are known. The sizes are somewhat below what was
// measured: hosts write a little around a result.
var hosts = []host{
	{prefix: "opencode", idle: 60 * time.Second, text: size{50_000, utf8Bytes}, calls: abreast, form: fewRows},
	{prefix: "claude-code", text: size{max: maxResultChars}, calls: abreastIfReading, form: fewRows},
	{prefix: "codex", limit: 300 * time.Second, text: size{11_500, utf8Bytes}, calls: abreastIfReading, form: form{rows: 6, noReason: true}, cancelsLate: true},
	{prefix: "gemini-cli", limit: 600 * time.Second, text: size{max: 39_000}, calls: abreast, ownEnum: true, form: fewRows},
	{prefix: "qwen", limit: 600 * time.Second, idle: 300 * time.Second, text: size{max: 24_000}, calls: abreastIfReading, ownEnum: true, form: fewRows},
	{prefix: "github-copilot", idle: 180 * time.Second, text: size{20_000, utf8Bytes}, calls: abreast, form: fewRows},
	{prefix: "copilot", idle: 180 * time.Second, text: size{20_000, utf8Bytes}, calls: abreast, form: fewRows},
	{prefix: "cline", limit: 60 * time.Second, text: clineText, form: fewRows},
	{prefix: "@cline", limit: 60 * time.Second, text: clineText, form: fewRows},
	{prefix: "continue", limit: 60 * time.Second, text: size{max: 100_000}, calls: abreast, form: fewRows}, // of 600,000 nothing arrives
}

// fewRows are those that Claude Code shows. Of other hosts it is the least.
var fewRows = form{rows: 3}

// clineText is what Cline takes: it writes a result, its _meta too, as JSON, and
// cuts that to 8,000 units out of the middle.
var clineText = size{7_500, jsonUnits}

// unknownHost is any other: one that waits as long as there is progress, and of
// whose model nothing is known but the least of the others.
var unknownHost = host{text: clineText, form: fewRows}

func hostOf(client *mcp.Implementation) host {
	if client == nil {
		return unknownHost
	}
	name := strings.ToLower(strings.TrimSpace(client.Name))
	for _, h := range hosts {
		if strings.HasPrefix(name, h.prefix) {
			return h
		}
	}
	return unknownHost
}

// host returns what holds for the client of a request: what is configured,
// else what is known of it.
func (s *Server) host(client *mcp.Implementation) host {
	h := hostOf(client)
	if s.callLimit > 0 {
		h.limit, h.idle = s.callLimit, 0
	}
	if s.resultLimit > 0 {
		h.text = size{max: s.resultLimit}
	}
	return h
}

// sideBySide reports whether the host runs the task calls of one turn side by
// side.
func (h host) sideBySide(readOnly bool) bool {
	return h.calls == abreast || h.calls == abreastIfReading && readOnly
}

// patience is after what time a call has to be answered, before the host gives
// up on it; 0: there is no such time.
func (h host) patience(progress bool) time.Duration {
	limit := h.limit
	if !progress && h.idle > 0 && (limit == 0 || h.idle < limit) {
		limit = h.idle
	}
	if limit == 0 {
		return 0
	}
	return limit - min(max(limit/10, 10*time.Second), limit/2)
}
