// Package toolname makes names of MCP tools from the names of agents: of letters, digits,
// "_" and "-" alone, short enough for all hosts, and never twice.
package toolname

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// prefix is what no other tool of ours begins with.
const prefix = "agent_"

// Max is how long a name is at most, in bytes. Hosts allow 64 and put the server's name
// before it, as in mcp__worker__agent_reviewer.
const Max = 48

// hashed is how much of an agent's hash stands in the name of its tool, in hex digits,
// where the agent's name cannot.
const hashed = 8

// Is reports whether a name may be one of an agent's tool.
func Is(tool string) bool { return strings.HasPrefix(tool, prefix) }

// Of returns the names of the tools of some agents, whose names differ. An agent's tool
// has the same name whatever other agents there are, unless two hashes begin alike.
func Of(agents []string) []string {
	taken := make(map[string]bool)
	names := make([]string, len(agents))
	for i, agent := range agents {
		name := of(agent, hashed)
		for n := hashed; taken[name] && n < Max; n += 4 {
			name = of(agent, n+4)
		}
		taken[name], names[i] = true, name
	}
	return names
}

// of is the name of an agent's tool, with so many digits of a hash where it is not the
// agent's own.
func of(agent string, digits int) string {
	var b strings.Builder
	for _, r := range agent {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			b.WriteRune(r)
		} else if r >= 'A' && r <= 'Z' {
			b.WriteRune(r + 'a' - 'A')
		} else {
			b.WriteByte('_')
		}
	}
	plain := b.String()
	if plain == agent && len(prefix)+len(plain) <= Max && !endsInHash(plain) && digits == hashed {
		return prefix + plain
	}
	sum := sha256.Sum256([]byte(agent))
	digits = min(digits, Max-len(prefix)-1)
	return prefix + plain[:min(len(plain), Max-len(prefix)-1-digits)] + "_" + hex.EncodeToString(sum[:])[:digits]
}

// endsInHash reports whether a name looks as if it had a hash: another agent's tool may
// have that name.
func endsInHash(name string) bool {
	i := strings.LastIndexByte(name, '_')
	if i < 0 || len(name)-i-1 < hashed {
		return false
	}
	return strings.Trim(name[i+1:], "0123456789abcdef") == ""
}
