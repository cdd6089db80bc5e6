// Package agents has the commands of 'worker agents', and the documents in which commands and
// doors show agents and what is wrong with their files.
package agents

import (
	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
)

type commands struct{ *app.Program }

// Commands returns 'worker agents'.
func Commands(program *app.Program) *cobra.Command {
	p := commands{program}
	return cli.Group("agents", "Look at the agents of this workspace, check and make agent files",
		p.listCommand(), p.showCommand(), p.lintCommand(), p.schemaCommand(), p.newCommand())
}

func (p commands) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of an agent file's frontmatter",
		Long:    `Prints the JSON Schema (2020-12) of the fields of an agent file, for editors and checks.`,
		Example: `  worker agents schema > agent-file.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := agentdefs.Schema()
			if err != nil {
				return err
			}
			return p.PrintJSON(schema, true)
		},
	}
}
