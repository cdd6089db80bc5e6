package agents

import (
	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
)

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
