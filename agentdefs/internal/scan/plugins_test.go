package scan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/agentdefs/internal/scan"
	"github.com/agentworker/worker/internal/disk"
)

// TestPluginsAreBounded has a marketplace that names too much. What is over the bounds is not looked at.
func TestPluginsAreBounded(t *testing.T) {
	find := func(files map[string]string) (all []scan.Plugin, looked []string) {
		root := t.TempDir()
		agentdefstest.Write(t, root, files)
		sys := disk.System{}.Complete()
		d := disk.New(t.Context(), disk.NewLimiter(time.Minute), &sys)
		return scan.Plugins(d, root, func(shown string) { looked = append(looked, shown) }), looked
	}
	market := func(n int, entry func(i int) string) map[string]string {
		var all []string
		for i := range n {
			all = append(all, entry(i))
		}
		return map[string]string{".claude-plugin/marketplace.json": `{"plugins": [` + strings.Join(all, ",") + `]}`}
	}
	for name, tt := range map[string]struct {
		files   map[string]string
		plugins int
		looks   int
	}{
		"many":         {market(3000, func(i int) string { return fmt.Sprintf(`{"name": "n", "source": "p%d"}`, i) }), 500, 2 + 4*500},
		"many unnamed": {market(3000, func(i int) string { return fmt.Sprintf(`{"source": "p%d"}`, i) }), 0, 2 + 4*500},
		"one again":    {market(3000, func(i int) string { return `{"name": "n", "source": "./p"}` }), 1, 2 + 4*2},
	} {
		t.Run(name, func(t *testing.T) {
			if all, looked := find(tt.files); len(all) != tt.plugins || len(looked) > tt.looks {
				t.Errorf("%d plugins, %d files looked at; want %d, and at most %d", len(all), len(looked), tt.plugins, tt.looks)
			}
		})
	}
	agents := make([]string, 50_000)
	for i := range agents {
		agents[i] = fmt.Sprintf(`"a%d"`, i)
	}
	list := "[" + strings.Join(agents, ",") + "]"
	all, _ := find(map[string]string{"plugin.json": `{"name": "n", "agents": ` + list + `}`,
		".claude-plugin/marketplace.json": `{"plugins": [{"name": "n", "source": ".", "agents": ["own"]}]}`})
	if len(all) != 1 {
		t.Fatalf("%d plugins, want 1", len(all))
	}
	folders := all[0].Folders()
	if len(folders) != 103 || !slices.ContainsFunc(folders, func(f dialect.Folder) bool { return f.Shown == "own" }) {
		t.Errorf("%d folders, want the 3 of each plugin and 100 that are named", len(folders))
	}
}
