package setup

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
)

// version is what the program is, as 'worker version --json' shows it.
type version struct {
	Version  string   `json:"version"`
	Commit   string   `json:"commit,omitempty"`
	Date     string   `json:"date,omitempty"` // of the commit
	Modified bool     `json:"modified"`       // the tree differed from the commit
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Features []string `json:"features"`
}

// Version returns 'worker version'.
func Version(program *app.Program) *cobra.Command {
	p := commands{program}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program, its commit and its features",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versionOf()
			if asJSON {
				return p.PrintJSON(v, true)
			}
			fmt.Fprintf(p.Stdout, "worker %s\n", v.Version)
			if v.Commit != "" {
				fmt.Fprintf(p.Stdout, "commit %s, %s\n", v.Commit, v.Date)
			}
			fmt.Fprintf(p.Stdout, "built with %s for %s\n", v.Go, v.Platform)
			for _, feature := range v.Features {
				fmt.Fprintf(p.Stdout, "  %s\n", feature)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func versionOf() version {
	v := version{Version: app.Version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Features: []string{"mcp", "acp", "http", "nats", "embedded-store"}}
	switch runtime.GOOS {
	case "linux":
		v.Features = append(v.Features, "sandbox-namespaces", "sandbox-landlock")
	case "darwin":
		v.Features = append(v.Features, "sandbox-seatbelt")
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
