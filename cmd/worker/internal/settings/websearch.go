package settings

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/tool/web"
)

// searchSettings are where web_search asks.
type searchSettings struct {
	search string // the text of the flag; empty means by the environment
	by     web.Search
	robots bool
}

func (s *searchSettings) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.search, "web-search", "", "whom web_search asks, as PROVIDER or PROVIDER=URL ("+strings.Join(web.Providers(), ", ")+"), or off (default: by the variable that is set, such as BRAVE_API_KEY)")
	flags.BoolVar(&s.robots, "web-robots", false, "web_fetch fetches nothing that a site's robots.txt does not want fetched")
}

// check finds the provider, and its key in the environment.
func (s *searchSettings) check(getenv func(string) string) error {
	name, at, _ := strings.Cut(s.search, "=")
	switch {
	case s.search == "off":
		return nil
	case s.search == "":
		s.by = web.ByEnvironment(getenv)
		return nil
	case !slices.Contains(web.Providers(), name):
		return fmt.Errorf("web-search: unknown provider %q (known: %s, off)", name, strings.Join(web.Providers(), ", "))
	}
	s.by = web.Named(name, at, getenv)
	variable, isURL := web.Variable(name)
	switch {
	case isURL && s.by.URL == "":
		return fmt.Errorf("web-search: %s needs a URL: write %s=URL, or set %s", name, name, variable)
	case !isURL && s.by.Key == "":
		return fmt.Errorf("web-search: %s needs a key: set %s", name, variable)
	case s.by.URL == "":
		return nil
	}
	if u, err := url.Parse(s.by.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("web-search: what follows = is no http or https URL")
	}
	return nil
}

// WebRobots reports whether web_fetch does what sites ask of robots.
func (s *Settings) WebRobots() bool { return s.searchSettings.robots }

// WebSearch returns where web_search asks; the zero value means that there is no such tool.
func (s *Settings) WebSearch() web.Search { return s.searchSettings.by }
