package app

import (
	"errors"
	"io/fs"
	"os"

	"github.com/agentworker/worker/policy"
)

// OpenPolicy opens what an administrator forbids all workers of this machine, and what
// --policy forbids besides. An error: nothing may run.
func (p *Program) OpenPolicy() (*policy.Store, error) { return policy.Open(p.Settings.Policy.String()) }

// policyFiles are the folder of the machine's policy, where there is one, and the file of
// --policy: no agent writes there.
func (p *Program) policyFiles() []string {
	var files []string
	if _, err := os.Lstat(policy.Dir); !errors.Is(err, fs.ErrNotExist) {
		files = append(files, policy.Dir)
	}
	if file := p.Settings.Policy.String(); file != "" {
		files = append(files, file)
	}
	return files
}
