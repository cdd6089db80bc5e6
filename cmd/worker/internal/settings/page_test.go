package settings_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/model/provider"
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

// TestProviderPage: the guide has a section for each provider, with its variables, what is rough, and a command
// that a script runs.
func TestProviderPage(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/guide/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../testdata/script/providers_page.txtar")
	if err != nil {
		t.Fatal(err)
	}
	sections := regexp.MustCompile("(?m)^## `([a-z]+)`$").FindAllStringSubmatch(string(page), -1)
	if len(sections) != len(provider.Rows) {
		t.Errorf("the page has %d providers, want %d", len(sections), len(provider.Rows))
	}
	for i, row := range provider.Rows {
		if i < len(sections) && sections[i][1] != row.Name {
			t.Errorf("section %d is of %s, want %s", i+1, sections[i][1], row.Name)
		}
		_, section, _ := strings.Cut(string(page), "\n## `"+row.Name+"`\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, want := range []string{"**Set:**", "**Models:**", "**Rough:**", "`" + row.KeyVariable() + "`", "`" + row.BaseVariable() + "`", "worker task explore --model " + row.Name + "/"} {
			if !strings.Contains(section, want) {
				t.Errorf("the section of %s has no %s", row.Name, want)
			}
		}
	}
	for _, command := range regexp.MustCompile("(?m)^worker .*$").FindAllString(string(page), -1) {
		if !strings.Contains(string(script), "\nexits 0 "+command+"\n") {
			t.Errorf("no script runs %s", command)
		}
	}
}
