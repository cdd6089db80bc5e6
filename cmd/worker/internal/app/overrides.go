package app

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/tool"
)

// Overrides replace the models and tools of a worker whose run is recorded or played. nil
// means that nothing is replaced.
type Overrides struct {
	Model func(name string) (model.Model, error)
	Tools func([]tool.Tool) []tool.Tool
}

func (o *Overrides) tools(all []tool.Tool) []tool.Tool {
	if o.Tools == nil {
		return all
	}
	return o.Tools(all)
}

// Isolated returns a program that works in a folder of its own, with its state in another.
// It asks nobody and prints nothing.
func (p *Program) Isolated(dir, state string, overrides Overrides) (*Program, error) {
	isolated := &Program{
		Console: Console{Stdin: p.Stdin, Stdout: io.Discard, Stderr: io.Discard},
		Environ: p.Environ, Abort: p.Abort, Settings: p.Settings, Overrides: overrides,
	}
	s := &isolated.Settings
	s.Dir, s.StateDir, s.Workspace, s.NATS, s.ApprovalTimeout = dir, state, "", "", 0
	ws, err := isolated.Workspace()
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil && ws.Root != real {
		err = errors.New("it lies in a repository")
	}
	if err != nil {
		return nil, fmt.Errorf("the folder %s for an isolated run: %w (set TMPDIR)", dir, err)
	}
	return isolated, nil
}
