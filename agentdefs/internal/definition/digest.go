package definition

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// DigestOf returns a function for the digest of all of d that a run depends on.
// Its place, what it replaced, and later errors in its file do not count. It is
// computed when it is first asked for. A pattern below home has the same digest
// for another user's home.
func DigestOf(d *Definition, home string) func() [sha256.Size]byte {
	return sync.OnceValue(func() (sum [sha256.Size]byte) {
		bare := *d
		bare.Permission, bare.Named, bare.Fields, bare.File, bare.Line, bare.Shadows, bare.Stale = nil, nil, nil, "", 0, "", false
		h := sha256.New()
		text, err := json.Marshal(bare)
		fmt.Fprintf(h, "%s %v\n", text, err)
		for r := range d.Permission.Rules() {
			pattern := r.Pattern
			if home != "" {
				pattern = strings.Replace(pattern, home+"/", "~/", 1)
			}
			fmt.Fprintf(h, "rule %q %q %v\n", r.Tool, pattern, r.Action)
		}
		for _, f := range d.Fields {
			fmt.Fprintf(h, "field %q ", f.Name)
			writeNode(h, f.node)
		}
		h.Sum(sum[:0])
		return sum
	})
}

// writeNode writes what n says, without its comments and place.
func writeNode(w io.Writer, n *yaml.Node) {
	if n == nil {
		fmt.Fprint(w, "none\n")
		return
	}
	fmt.Fprintf(w, "%d %q %q %d\n", n.Kind, n.Tag, n.Value, len(n.Content))
	for _, c := range n.Content {
		writeNode(w, c)
	}
}
