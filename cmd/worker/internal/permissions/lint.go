package permissions

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

func (p commands) lintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lint [FILE]",
		Short: "Find rules that are probably not meant",
		Long: `lint reads permissions.jsonc, or FILE in its form, and tells of rules that a
later one shadows, that are written twice, that miss another way to the same
files, and of names that no tool has. It prints a line for each, and the exit
status is 1 if there are any. Nothing is written.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			ws, err := p.Workspace()
			if err != nil {
				return err
			}
			file := app.RulesFile(ws)
			if len(args) == 1 {
				file = args[0]
			}
			rules, exists, err := permission.ReadFile(file, ws.Home)
			if err != nil {
				return err
			}
			if !exists && len(args) == 1 {
				return cli.Usage(fmt.Errorf("there is no file %s", file))
			}
			findings := findings(rules)
			for _, f := range findings {
				fmt.Fprintln(p.Stdout, f)
			}
			if len(findings) > 0 {
				return cli.Failed
			}
			return nil
		},
	}
}

// findings returns a line for each rule that is probably not meant.
func findings(rules *permission.Ruleset) (lines []string) {
	names := append(toolcatalog.Names(func(t toolcatalog.Tool) bool { return !t.Own || t.Reserved }), tool.NetworkTool)
	for _, f := range permission.Lint(rules, names) {
		lines = append(lines, termtext.Printable(f.String()))
	}
	return lines
}
