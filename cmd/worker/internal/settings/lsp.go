package settings

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/tool/lsp"
)

// registerLanguageServers adds the flag about language servers.
func (s *Settings) registerLanguageServers(flags *pflag.FlagSet) {
	flags.Var(s.languageServersValue(), "lsp", "language servers, an object by their names in the form of .lsp.json, or off for none (default: known ones in PATH)")
}

// languageServersValue returns the setting lsp. What a flag or the variable says stands before the
// config file.
func (s *Settings) languageServersValue() *value {
	read := func(text []byte, from string) error {
		switch strings.TrimSpace(string(text)) {
		case "off", "false", `"off"`:
			s.NoLanguageServers = true
			return nil
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(text, &object) != nil || object == nil {
			return errors.New("write an object of language servers by their names, or off")
		}
		servers, err := lsp.Own.Parse(text)
		for _, server := range servers {
			server.File = from
		}
		s.LanguageServers = append(s.LanguageServers, servers...)
		return err
	}
	return &value{
		kind: "JSON", adds: true,
		show: func() string {
			if s.NoLanguageServers {
				return "off"
			}
			var names []string
			for _, server := range s.LanguageServers {
				names = append(names, server.Name)
			}
			return strings.Join(names, ",")
		},
		set:    func(text string) error { return read([]byte(text), "--lsp") },
		env:    func(text string) error { return read([]byte(text), "WORKER_LSP") },
		config: func(raw json.RawMessage, _ string) error { return read(raw, "the config file") },
	}
}
