package app

import (
	"errors"
	"io/fs"
	"os"

	"github.com/agentworker/worker/policy"
	"github.com/agentworker/worker/sandbox"
)

// OpenPolicy opens what an administrator forbids all workers of this machine, and what
// --policy forbids besides, and lowers the settings to what that leaves. An error: nothing may run.
func (p *Program) OpenPolicy() (*policy.Store, error) {
	above, err := policy.Open(p.Settings.Policy.String())
	if err == nil {
		err = p.narrow(above)
	}
	return above, err
}

// narrow lowers settings to what a policy leaves: whatever flags, variables and the config
// file say, the least counts.
func (p *Program) narrow(above *policy.Store) error {
	now, err := above.Current()
	if err != nil {
		return err
	}
	s := &p.Settings
	for key, value := range map[string]*int{
		"maxDepth": &s.MaxDepth, "maxChildren": &s.MaxChildren, "maxPerParent": &s.MaxPerParent, "maxToolCalls": &s.MaxToolCalls,
	} {
		if bound := now.Bound(key).Most; bound > 0 {
			*value = min(*value, bound)
		}
	}
	if now.Sandboxed().File != "" {
		s.Sandbox.Mode = sandbox.Required
	}
	return nil
}

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
