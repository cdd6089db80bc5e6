package agents

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/tool"
)

type lintOptions struct {
	format        string
	strict, quiet bool
}

// lintFormats print what lint found.
var lintFormats = map[string]func(p commands, r *lintReport) error{
	"human":  commands.printLint,
	"json":   func(p commands, r *lintReport) error { return p.PrintJSON(r, true) },
	"sarif":  func(p commands, r *lintReport) error { return p.PrintJSON(SARIF(r.Diagnostics), true) },
	"github": func(p commands, r *lintReport) error { return WriteGitHub(p.Stdout, r.Diagnostics) },
}

func (p commands) lintCommand() *cobra.Command {
	var opts lintOptions
	cmd := &cobra.Command{
		Use:   "lint [PATH...]",
		Short: "Check agent files",
		Long: `Checks the agent files at PATH, files or folders with all that is below them. Without
PATH it checks the folders that are served: the workspace's, yours, and --agents-dir.

Each finding is a line FILE:LINE:COLUMN: SEVERITY: MESSAGE (CODE); WHAT TO DO. The exit
status is 1 if there is an error, with --strict also if there is a warning, else 0.`,
		Example: `  worker agents lint
  worker agents lint --strict --quiet .agents/agents/reviewer.md
  worker agents lint --format sarif > agents.sarif
  worker agents lint --format github          # annotations in GitHub Actions`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, paths []string) error {
			return p.lintAgents(cmd.Context(), paths, opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.format, "format", "human", "human, json, sarif or github")
	flags.BoolVar(&opts.strict, "strict", false, "warnings count as errors")
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "leave out information")
	cli.CompleteFlag(cmd, "format", cobra.FixedCompletions([]string{"human", "json", "sarif", "github"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// lintReport is what lint found.
type lintReport struct {
	Files       int                    `json:"files"` // checked
	Errors      int                    `json:"errors"`
	Warnings    int                    `json:"warnings"`
	Diagnostics []agentdefs.Diagnostic `json:"diagnostics"` // files relative to the current folder, if below it
}

func (p commands) lintAgents(ctx context.Context, paths []string, opts lintOptions) error {
	show, ok := lintFormats[opts.format]
	if !ok {
		return cli.Usage(fmt.Errorf("--format %q: use human, json, sarif or github", opts.format))
	}
	report, err := p.lint(ctx, paths, opts.format == "human")
	if err != nil {
		return err
	}
	report.Diagnostics = append([]agentdefs.Diagnostic{}, agentdefs.EachOnce(report.Diagnostics)...)
	if opts.quiet {
		report.Diagnostics = slices.DeleteFunc(report.Diagnostics, func(d agentdefs.Diagnostic) bool { return d.Severity == agentdefs.Information })
	}
	for _, d := range report.Diagnostics {
		switch d.Severity {
		case agentdefs.Error:
			report.Errors++
		case agentdefs.Warning:
			report.Warnings++
		}
	}
	if err := show(p, report); err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "%s, %s in %s\n", termtext.Plural(report.Errors, "error"), termtext.Plural(report.Warnings, "warning"), termtext.Plural(report.Files, "file"))
	if report.Errors > 0 || opts.strict && report.Warnings > 0 {
		return cli.Failed
	}
	return nil
}

// lint checks the files at paths; without any it checks the served files. With keys it also tells
// whose model lacks its key here.
func (p commands) lint(ctx context.Context, paths []string, keys bool) (*lintReport, error) {
	ws, err := p.Workspace()
	if err != nil {
		return nil, err
	}
	opts, err := p.AgentOptions(ws)
	if err != nil {
		return nil, err
	}
	opts.KnownModel = func(name string) bool { // whatever keys are set: a check has none
		_, err := p.Models().Resolve(name)
		return err == nil
	}
	report := &lintReport{Diagnostics: []agentdefs.Diagnostic{}}
	if len(paths) > 0 {
		found, files, err := agentdefs.Lint(ctx, paths, opts)
		if err != nil && ctx.Err() == nil {
			return nil, cli.Usage(err)
		}
		report.Files, report.Diagnostics = files, append(report.Diagnostics, found...)
		return report, err
	}
	snapshot, err := agentdefs.Load(ws.Root, opts)
	if err != nil {
		return nil, err
	}
	report.Files = countFiles(snapshot)
	here, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the current folder: %w", err)
	}
	if real, err := filepath.EvalSymlinks(here); err == nil { // as the root is
		here = real
	}
	found := snapshot.Diagnostics()
	if keys {
		lacking, err := p.lackingKeys(ws, found)
		if err != nil {
			return nil, err
		}
		found = append(found, lacking...)
	}
	servers := app.NewServers(p.Program, ws)
	for _, d := range snapshot.Agents() {
		for _, lacking := range p.lackingServers(servers, d) {
			found = append(found, agentdefs.ServerMissing(d, lacking))
		}
	}
	lacking, err := p.lintLanguageServers(ws, snapshot)
	if err != nil {
		return nil, err
	}
	found = append(found, lacking...)
	found = append(found, app.Instructions(p.Program, ws, nil).Current().Diagnostics()...)
	for _, d := range found {
		d.File = fromHere(here, ws.Root, d.File)
		report.Diagnostics = append(report.Diagnostics, d)
	}
	return report, nil
}

// lintLanguageServers returns what is wrong with the language servers of the workspace, and which agents
// lack one.
func (p commands) lintLanguageServers(ws *workspace.Workspace, snapshot *agentdefs.Snapshot) ([]agentdefs.Diagnostic, error) {
	files, err := tool.OpenWorkspace(ws.Root, p.ToolOptions(ws))
	if err != nil {
		return nil, err
	}
	place := app.NewLanguageServers(p.Program, ws).In(files)
	found := brokenLanguageServers(ws.Root)
	for _, d := range snapshot.Agents() {
		if lacking := lackingLanguageServers(place, d); lacking != "" {
			found = append(found, agentdefs.ServerMissing(d, lacking))
		}
	}
	return found, files.Close()
}

// lackingKeys returns what other commands warn of beyond found: models that are known, and have no
// key here. It is information, since pipelines check agents without keys.
func (p commands) lackingKeys(ws *workspace.Workspace, found []agentdefs.Diagnostic) (lacking []agentdefs.Diagnostic, err error) {
	opts, err := p.AgentOptions(ws)
	if err != nil {
		return nil, err
	}
	snapshot, err := agentdefs.Load(ws.Root, opts)
	if err != nil {
		return nil, err
	}
	for _, d := range snapshot.Diagnostics() {
		if !slices.Contains(found, d) {
			d.Severity = agentdefs.Information
			lacking = append(lacking, d)
		}
	}
	return lacking, nil
}

// fromHere returns the path of a file relative to the folder here if it is below that, else
// an absolute path. file is relative to root.
func fromHere(here, root, file string) string {
	at := filepath.FromSlash(file)
	if !filepath.IsAbs(at) {
		at = filepath.Join(root, at)
	}
	if rel, err := filepath.Rel(here, at); err == nil && filepath.IsLocal(rel) {
		at = rel
	}
	return filepath.ToSlash(at)
}

// countFiles counts the files of a snapshot.
func countFiles(snapshot *agentdefs.Snapshot) int {
	files := map[string]bool{}
	for _, d := range snapshot.Agents() {
		if !d.BuiltIn {
			files[d.File] = true
		}
	}
	for _, u := range snapshot.Unserved() {
		if u.File != "built-in" {
			files[u.File] = true
		}
	}
	for _, d := range snapshot.Diagnostics() {
		if strings.HasSuffix(d.File, ".md") {
			files[d.File] = true
		}
	}
	return len(files)
}

func (p commands) printLint(r *lintReport) error {
	for _, d := range r.Diagnostics {
		if _, err := fmt.Fprintln(p.Stdout, termtext.OneLine(d.String(), termtext.MaxText)); err != nil {
			return err
		}
	}
	return nil
}
