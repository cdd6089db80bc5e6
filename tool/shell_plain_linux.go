package tool

import "github.com/agentworker/worker/sandbox"

// runPlain is for the systems on which nothing ends what a command starts.
func (c *command) runPlain() error { return sandbox.ErrNotHeld }

// startPlain is for the same systems.
func startPlain(*Workspace, *sandbox.Command) (Running, error) { return nil, sandbox.ErrNotHeld }
