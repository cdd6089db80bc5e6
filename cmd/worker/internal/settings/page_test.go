package settings_test

import (
	"os"
	"regexp"
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
