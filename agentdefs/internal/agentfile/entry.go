package agentfile

import (
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Entry is one field of a file.
type Entry struct {
	Key          string // as written
	Field        *Field
	Misspelled   bool
	Line, Column int // of the key, in the file

	// Node is the value, with its places in the file. It is nil if the value is
	// not valid YAML; then Raw has its text.
	Node *yaml.Node
	Raw  string
}

// HasReplacement reports whether the value holds U+FFFD, the sign of bytes that
// could not be decoded.
func (e Entry) HasReplacement() bool {
	if e.Node == nil {
		return strings.ContainsRune(e.Raw, utf8.RuneError)
	}
	return hasReplacement(e.Node)
}

func hasReplacement(n *yaml.Node) bool {
	return strings.ContainsRune(n.Value, utf8.RuneError) || slices.ContainsFunc(n.Content, hasReplacement)
}
