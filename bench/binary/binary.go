// Package binary builds the worker's program for campaigns that run it as a process.
package binary

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

const module = "github.com/agentworker/worker"

// Build builds the worker into the folder dir and returns the program's path.
// It needs the go command, and the working directory in the module of bench.
func Build(ctx context.Context, dir string) (string, error) {
	source, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("looking for the module %s: %w", module, err)
	}
	program, err := filepath.Abs(filepath.Join(dir, "worker"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/worker")
	cmd.Dir = string(bytes.TrimSpace(source)) // the module's own sums hold for its programs
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the worker: %w\n%s", err, out)
	}
	return program, nil
}
