// Package hosts has what is known of the hosts that speak MCP.
package hosts

import (
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Host is what is known of the hosts whose clients' names begin with prefix.
// docs/reference/hosts.md has where the figures come from.
type Host struct {
	prefix string // in small letters

	// Limit is when the host gives up on a call, progress or not, and Idle when
	// it does without progress. 0 means it doesn't.
	Limit, Idle time.Duration

	Text Size // of a result that reaches its model whole

	Calls   Turns // of one turn
	OwnEnum bool  // it refuses an agentType that is not in the enum it knows

	Form Form // of an approval

	// CancelsLate: when it gives up on a call it cancels it, without saying why.
	CancelsLate bool
}

// MaxResultChars asks Claude Code, which cuts at 50,000 characters, for as many
// as it lets a tool ask for: an answer is to arrive whole.
const MaxResultChars = 500_000

// Turns is how a host runs the calls of one turn.
type Turns uint8

const (
	oneByOne         Turns = iota // or nothing is known
	abreastIfReading              // side by side where the tool is read-only
	abreast                       // side by side
)

// Form is how a host shows the form of an approval.
type Form struct {
	Rows     int  // of the message that its user sees for certain, as far as was seen; 0 means all
	NoReason bool // it can't be sent while a text field is empty
}

// hosts is the table of known hosts. The sizes are somewhat below the measured ones: hosts
// write a little around a result.
var hosts = []Host{
	{prefix: "opencode", Idle: 60 * time.Second, Text: Size{50_000, UTF8Bytes}, Calls: abreast, Form: fewRows},
	{prefix: "claude-code", Text: Size{Max: MaxResultChars}, Calls: abreastIfReading, Form: fewRows},
	{prefix: "codex", Limit: 300 * time.Second, Text: Size{11_500, UTF8Bytes}, Calls: abreastIfReading, Form: Form{Rows: 6, NoReason: true}, CancelsLate: true},
	{prefix: "gemini-cli", Limit: 600 * time.Second, Text: Size{Max: 39_000}, Calls: abreast, OwnEnum: true, Form: fewRows},
	{prefix: "qwen", Limit: 600 * time.Second, Idle: 300 * time.Second, Text: Size{Max: 24_000}, Calls: abreastIfReading, OwnEnum: true, Form: fewRows},
	{prefix: "github-copilot", Idle: 180 * time.Second, Text: Size{20_000, UTF8Bytes}, Calls: abreast, Form: fewRows},
	{prefix: "copilot", Idle: 180 * time.Second, Text: Size{20_000, UTF8Bytes}, Calls: abreast, Form: fewRows},
	{prefix: "cline", Limit: 60 * time.Second, Text: clineText, Form: fewRows},
	{prefix: "@cline", Limit: 60 * time.Second, Text: clineText, Form: fewRows},
	{prefix: "continue", Limit: 60 * time.Second, Text: Size{Max: 100_000}, Calls: abreast, Form: fewRows}, // of 600,000 nothing arrives
}

// fewRows is how many rows Claude Code shows. Other hosts show as many or more.
var fewRows = Form{Rows: 3}

// clineText is what Cline takes: it writes a result, its _meta too, as JSON, and
// cuts that to 8,000 units out of the middle.
var clineText = Size{7_500, JSONUnits}

// Unknown is any other: one that waits as long as there is progress, and of
// whose model nothing is known but the least of the others.
var Unknown = Host{Text: clineText, Form: fewRows}

// Of returns what is known of the host of a client.
func Of(client *mcp.Implementation) Host {
	if client == nil {
		return Unknown
	}
	name := strings.ToLower(strings.TrimSpace(client.Name))
	for _, h := range hosts {
		if strings.HasPrefix(name, h.prefix) {
			return h
		}
	}
	return Unknown
}

// SideBySide reports whether the host runs the task calls of one turn side by
// side.
func (h Host) SideBySide(readOnly bool) bool {
	return h.Calls == abreast || h.Calls == abreastIfReading && readOnly
}

// Patience is after what time a call has to be answered, before the host gives
// up on it; 0 means the host never gives up.
func (h Host) Patience(progress bool) time.Duration {
	limit := h.Limit
	if !progress && h.Idle > 0 && (limit == 0 || h.Idle < limit) {
		limit = h.Idle
	}
	if limit == 0 {
		return 0
	}
	return limit - min(max(limit/10, 10*time.Second), limit/2)
}
