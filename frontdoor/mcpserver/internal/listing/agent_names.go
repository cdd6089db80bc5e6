package listing

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// agentPrefix begins the names of the tools of agents, and of no other tool.
	agentPrefix = "agent_"

	// maxName bounds the name of an agent's tool, in bytes. Hosts allow 64 and put the
	// server's name before it, as in mcp__worker__agent_reviewer.
	maxName = 48

	// hashed is how many hex digits of an agent's hash its tool's name has, if the agent's
	// own name can't be used.
	hashed = 8
)

// toolNames returns the names of the tools of agents, whose names differ. A name consists
// of letters, digits, "_" and "-", is short enough for all hosts, and is not used twice. It
// does not depend on the other agents, unless two hashes begin alike.
func toolNames(agents []string) []string {
	used := make(map[string]bool)
	names := make([]string, len(agents))
	for i, agent := range agents {
		name := toolName(agent, hashed)
		for n := hashed; used[name] && n < maxName; n += 4 {
			name = toolName(agent, n+4)
		}
		used[name], names[i] = true, name
	}
	return names
}

// toolName is the name of an agent's tool, with that many digits of a hash if it is not
// the agent's own.
func toolName(agent string, digits int) string {
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
	if plain == agent && len(agentPrefix)+len(plain) <= maxName && !endsInHash(plain) && digits == hashed {
		return agentPrefix + plain
	}
	sum := sha256.Sum256([]byte(agent))
	digits = min(digits, maxName-len(agentPrefix)-1)
	return agentPrefix + plain[:min(len(plain), maxName-len(agentPrefix)-1-digits)] + "_" + hex.EncodeToString(sum[:])[:digits]
}

// endsInHash reports whether a name looks as if it had a hash. Such a name may be that of
// another agent's tool.
func endsInHash(name string) bool {
	i := strings.LastIndexByte(name, '_')
	if i < 0 || len(name)-i-1 < hashed {
		return false
	}
	return strings.Trim(name[i+1:], "0123456789abcdef") == ""
}
