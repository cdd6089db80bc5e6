package settings_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/cmd/worker/internal/settings"
)

// TestPage: the reference has a row for each setting.
func TestPage(t *testing.T) {
	var page []byte
	for _, name := range []string{"settings.md", "nats.md"} {
		text, err := os.ReadFile("../../../../docs/reference/" + name)
		if err != nil {
			t.Fatal(err)
		}
		page = append(page, text...)
	}
	flags := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	new(settings.Settings).Register(flags)
	n := 0
	flags.VisitAll(func(f *pflag.Flag) {
		n++
		if !regexp.MustCompile("(?m)^\\| [^|]*`--" + regexp.QuoteMeta(f.Name) + "`").Match(page) {
			t.Errorf("neither docs/reference/settings.md nor nats.md has a row for --%s", f.Name)
		}
	})
	if n < 60 {
		t.Errorf("%d settings are registered, want all", n)
	}
}

// TestAliasPage: the reference has a row for each alias, and no other.
func TestAliasPage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/reference/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range settings.Aliases {
		if row := fmt.Sprintf("\n| `%s` | `%s` | %s | <%s> |\n", a.Name, a.Model, a.Date, a.Source); !strings.Contains(string(page), row) {
			t.Errorf("settings.md lacks the row %s", row)
		}
	}
	if rows := strings.Count(string(page), "| <https://"); rows != len(settings.Aliases) {
		t.Errorf("settings.md has %d rows of aliases, want %d", rows, len(settings.Aliases))
	}
}
