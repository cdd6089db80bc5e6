package permission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
)

// BenchmarkManyRulesJSON reads files of rules. The time has to grow as their number does.
func BenchmarkManyRulesJSON(b *testing.B) {
	for _, n := range []int{400, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var text strings.Builder
			text.WriteString("{\"shell_exec\": {\n")
			for i := range n {
				fmt.Fprintf(&text, "  \"cmd%d *\": %q,\n", i, []string{"allow", "ask", "deny"}[i%3])
			}
			text.WriteString("}}")
			for b.Loop() {
				if _, err := permission.ParseJSON([]byte(text.String()), "x", nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
