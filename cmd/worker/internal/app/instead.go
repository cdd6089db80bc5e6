package app

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/tool"
)

// Instead is what a worker works with in place of its own models and tools, where a run is
// recorded or played. A field that is nil stands for its own.
type Instead struct {
	Model func(name string) (model.Model, error)
	Tools func([]tool.Tool) []tool.Tool
}

// tools returns the tools that stand in for all.
func (i *Instead) tools(all []tool.Tool) []tool.Tool {
	if i.Tools == nil {
		return all
	}
	return i.Tools(all)
}

// Apart returns a program that works in a folder, with its state in another, beside all
// that p works in: nobody is asked, and what it says goes to said.
func (p *Program) Apart(dir, state string, said io.Writer, instead Instead) (*Program, error) {
	apart := &Program{
		Stdin: p.Stdin, Stdout: io.Discard, Stderr: said, Environ: p.Environ, Abort: p.Abort,
		OutTerm: terminal.Output{}, ErrTerm: terminal.Output{}, Settings: p.Settings, Instead: instead,
	}
	s := &apart.Settings
	s.Dir, s.StateDir, s.Workspace, s.NATS, s.ApprovalTimeout = dir, state, "", "", 0
	ws, err := apart.Workspace()
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil && ws.Root != real {
		err = errors.New("it lies in a repository")
	}
	if err != nil {
		return nil, fmt.Errorf("the folder %s for what runs apart: %w (set TMPDIR)", dir, err)
	}
	return apart, nil
}
