package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/internal/mcpconfig"
)

// registerServers adds the flags about MCP servers whose tools agents have.
func (s *Settings) registerServers(flags *pflag.FlagSet) {
	flags.Var(s.serversValue(), "mcp-servers", "MCP servers whose tools agents have, an object by their names in the form of .mcp.json")
	from := list(&s.MCPFrom, "list", "write a list of names, or all", checkServerSource)
	flags.Var(from, "mcp-from", "programs whose files of MCP servers are read too, with commas between, or all ("+strings.Join(mcpconfig.Programs(), ", ")+")")
}

// serversValue returns the setting mcpServers. What a flag or the variable says stands before
// the config file.
func (s *Settings) serversValue() *value {
	read := func(data []byte, from string) error {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(data, &all); err != nil || all == nil {
			return errors.New("write an object of MCP servers by their names")
		}
		servers, err := mcpconfig.Own.Servers(all)
		for _, server := range servers {
			server.File = from
		}
		s.MCPServers = append(s.MCPServers, servers...)
		return err
	}
	return &value{
		kind: "JSON", adds: true,
		show: func() string {
			names := map[string]bool{}
			for _, server := range s.MCPServers {
				names[server.Name] = true
			}
			return strings.Join(slices.Sorted(maps.Keys(names)), ",")
		},
		set:    func(text string) error { return read([]byte(text), "--mcp-servers") },
		env:    func(text string) error { return read([]byte(text), "WORKER_MCP_SERVERS") },
		config: func(raw json.RawMessage, _ string) error { return read(raw, "the config file") },
	}
}

func checkServerSource(name string) error {
	if name != "all" && !slices.Contains(mcpconfig.Programs(), name) {
		return fmt.Errorf("unknown program %q (use all, or some of %s)", name, strings.Join(mcpconfig.Programs(), ", "))
	}
	return nil
}
