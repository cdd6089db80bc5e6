package agentdefs_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentworker/worker/agentdefs"
)

func ExampleLoad() {
	root, err := os.MkdirTemp("", "workspace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	dir := filepath.Join(root, ".agents", "agents")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		fmt.Println(err)
		return
	}
	file := `---
name: reviewer
description: Reviews a change and reports what is wrong with it.
permission: {"*": deny, read_file: allow, grep: allow}
maxSteps: 0
---
Read the change with care.
`
	if err := os.WriteFile(filepath.Join(dir, "reviewer.md"), []byte(file), 0o666); err != nil {
		fmt.Println(err)
		return
	}

	s, err := agentdefs.Load(root, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range s.Subagents() {
		fmt.Println(d.Name, d.MaxSteps)
	}
	for _, d := range s.Diagnostics() {
		fmt.Println(d)
	}
	// Output:
	// explore 15
	// general 20
	// reviewer 10
	// .agents/agents/reviewer.md:5:1: warning: maxSteps is 0, less than 1, and is ignored (field-range); write a number from 1 to 1000
}
