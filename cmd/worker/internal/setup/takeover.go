package setup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/termtext"
)

// takeOver copies the agents of other tools into the agent folder of the workspace.
func (p commands) takeOver(from []string) error {
	for _, name := range from {
		if name != "all" && !slices.Contains(agentdefs.Sources(), name) {
			return cli.Usage(fmt.Errorf("--from: unknown source %q; use all, or %s", name, strings.Join(agentdefs.Sources(), ", ")))
		}
	}
	at, err := p.folders()
	if err != nil {
		return err
	}
	p.Settings.AgentsFrom = nil
	own, err := p.LoadAgents()
	if err != nil {
		return err
	}
	p.Settings.AgentsFrom = from
	all, err := p.LoadAgents()
	if err != nil {
		return err
	}
	ws, err := p.Workspace()
	if err != nil {
		return err
	}
	folder, wrote, left := cmp.Or(own.Dir(), ".agents/agents"), 0, 0
	for _, d := range all.Agents() {
		if d.BuiltIn || slices.ContainsFunc(own.Agents(), func(have *agentdefs.Definition) bool { return have.File == d.File && have.Name == d.Name }) {
			continue
		}
		name := strings.NewReplacer("/", "-", ":", "-").Replace(d.Name)
		file := path.Join(folder, name+".md")
		text, err := agentdefs.Markdown(d, ws.Home)
		if err = errors.Join(err, agentdefs.CheckFileName(name)); err == nil {
			err = create(at.Project, file, text)
		}
		switch {
		case errors.Is(err, fs.ErrExist):
			err = fmt.Errorf("%s is there already, and stays", file)
			fallthrough
		case err != nil:
			left++
			fmt.Fprintf(p.Stderr, "left out %s of %s: %s\n", termtext.OneLine(d.Name, termtext.MaxLabel), termtext.OneLine(d.File, termtext.MaxLine), termtext.OneLine(err.Error(), termtext.MaxLine))
		default:
			wrote++
			fmt.Fprintf(p.Stdout, "wrote %s, from %s\n", termtext.OneLine(file, termtext.MaxLine), termtext.OneLine(d.File, termtext.MaxLine))
		}
	}
	if wrote == 0 {
		return fmt.Errorf("nothing was written: %s left out, and no other agent found", termtext.Plural(left, "agent"))
	}
	fmt.Fprintf(p.Stdout, "check all: worker agents lint\n")
	return p.printHosts(at)
}
