package definition_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
)

// TestNamedTextsAreBounded has files that name others too often, or too much text.
func TestNamedTextsAreBounded(t *testing.T) {
	agents := func(n int, prompt func(i int) string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"a%d": {"description": "x", "prompt": %q}`, i, prompt(i)))
		}
		return `{"agent": {` + strings.Join(all, ",") + `}}`
	}
	one := func(prompt string) string { return agents(1, func(int) string { return prompt }) }
	for name, tt := range map[string]struct {
		list   string
		length int // of each text
		opens  int // at most
		served int
		has    string // in a diagnostic
	}{
		"again and again":  {one("{file:a.md} {file:./a.md} {file:b/../a.md}"), 9, 1, 1, ""},
		"two agents":       {agents(2, func(int) string { return "{file:a.md}" }), 9, 1, 2, ""},
		"as many as may":   {one(strings.Repeat("{file:a.md}", 50)), 9, 1, 1, ""},
		"one more":         {one(strings.Repeat("{file:a.md}", 51)), 9, 0, 0, "more than 50 files"},
		"far more":         {one(strings.Repeat("{file:a.md}", 80_000)), 1 << 20, 0, 0, "more than 50 files"},
		"long together":    {one("{file:a.md}{file:b.md}{file:c.md}"), 600 << 10, 2, 0, "longer than 1024 KiB"},
		"long with itself": {one("{file:a.md}" + strings.Repeat("x", 500<<10)), 600 << 10, 1, 0, "longer than 1024 KiB"},
		"not there":        {one("{file:none.md}{file:none2.md}{file:none3.md}"), 9, 1, 0, "no such file"},
		"many agents":      {agents(40, func(int) string { return "{file:a.md}" }), 1 << 20, 1, 16, "together over 16 MiB"},
		"many names":       {agents(900, func(i int) string { return fmt.Sprintf("{file:%d.md}{file:%d-2.md}", i, i) }), 9, 1000, 500, "more than 1000 files"},
	} {
		t.Run(name, func(t *testing.T) {
			opens := 0
			text := []byte(strings.Repeat("w", tt.length))
			open := func(name string, _ []string) ([]byte, string, error) {
				opens++
				if strings.HasPrefix(name, "none") {
					return nil, name, errors.New("there is no such file")
				}
				return text, name, nil
			}
			parsed, found, ok := definition.ParseList("opencode.json", dialect.OpencodeList, []byte(tt.list), definition.Options{Open: open})
			if !ok {
				t.Fatal(found)
			}
			served, said := 0, ""
			for _, p := range parsed {
				if p.Def != nil {
					served++
				}
				errors := 0
				for _, d := range p.Diagnostics {
					if d.Severity != diag.Error {
						continue
					}
					if errors++; said == "" {
						said = d.Message
					}
				}
				if (errors == 1) != (p.Def == nil) {
					t.Errorf("%v, want one error for an agent that is not served", p.Diagnostics)
				}
			}
			if opens > tt.opens || served != tt.served || !strings.Contains(said, tt.has) {
				t.Errorf("%d files opened, %d agents served, %q; want at most %d, %d, %q", opens, served, said, tt.opens, tt.served, tt.has)
			}
		})
	}
}
