package agentdefs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
	"github.com/agentworker/worker/permission"
)

// manyRules is an agent file with n rules about commands.
func manyRules(n int) string {
	var b strings.Builder
	b.WriteString("---\nname: many\ndescription: x\npermission:\n  shell_exec:\n")
	for i := range n {
		fmt.Fprintf(&b, "    \"cmd%d *\": %s\n", i, []string{"allow", "ask", "deny"}[i%3])
	}
	b.WriteString("---\nx\n")
	return b.String()
}

// BenchmarkManyRules loads an agent file with 4,000 rules, and one with none beside it.
func BenchmarkManyRules(b *testing.B) {
	for _, n := range []int{0, 40, 400, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			file := map[string]string{".agents/agents/many.md": strings.Replace(manyRules(n), "  shell_exec:\n---", "  shell_exec: ask\n---", 1)}
			for b.Loop() {
				s := agentdefstest.Load(b, file, nil)
				for _, d := range s.Agents() {
					_ = d.May(permission.Layers{Defaults: permission.Defaults()})
				}
			}
		})
	}
}
