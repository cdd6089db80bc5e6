package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/policy"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/taskt"
)

// above is what an administrator forbids the program.
type above struct {
	mu      sync.Mutex
	store   *policy.Store                // nil means it was not read yet
	lowered map[string]permission.Source // the settings that it has lowered, by their keys
	unread  []policy.ForbiddenError      // folders of agent files that are not read
	budgets []taskt.BudgetAbove
	time    time.Duration // how long a session may run at most; 0 means any time
}

// OpenPolicy opens the policy of this machine and that of --policy, and lowers the settings to
// what they allow. With an error nothing may run.
func (p *Program) OpenPolicy() (*policy.Store, error) {
	p.above.mu.Lock()
	defer p.above.mu.Unlock()
	if p.above.store != nil {
		_, err := p.above.store.Current()
		return p.above.store, err
	}
	store, err := policy.Open(p.Settings.Policy)
	if err == nil {
		err = p.above.narrow(&p.Settings, store)
	}
	if err != nil {
		return nil, err
	}
	p.above.store = store
	return store, nil
}

// allows returns an error if a list of the policy does not have a name.
func (p *Program) allows(kind policy.Kind, name string) error {
	store, err := p.OpenPolicy()
	if err != nil {
		return err
	}
	now, err := store.Current()
	if err != nil {
		return err
	}
	return now.Allows(kind, name)
}

// AllowDoors returns an error for the first door that the policy forbids.
func (p *Program) AllowDoors(names ...string) error {
	for _, name := range names {
		if err := p.allows(policy.Doors, name); err != nil {
			return cli.Usage(err)
		}
	}
	return nil
}

// AllowModel returns an error for a model that the policy forbids.
func (p *Program) AllowModel(name string) error {
	if err := p.allows(policy.Models, name); err != nil {
		return cli.Usage(err)
	}
	return nil
}

// narrow lowers settings to what a policy allows: whatever flags, variables and the config
// file say, the lowest value counts.
func (a *above) narrow(s *settings.Settings, store *policy.Store) error {
	now, err := store.Current()
	if err != nil {
		return err
	}
	a.budgets, a.unread = nil, nil
	a.lowered = make(map[string]permission.Source)
	for key, value := range s.Bounded() {
		if bound := now.Bound(key); bound.Most > 0 && bound.Most < *value {
			*value = bound.Most
			a.lowered[key] = bound.Source
		}
	}
	if bound := now.Bound(policy.MaxTimeoutSeconds); bound.Most > 0 {
		a.time = time.Duration(bound.Most) * time.Second
		for key, value := range map[string]*time.Duration{"timeout": &s.Timeout, "backgroundTimeout": &s.BackgroundTimeout} {
			if a.time < *value {
				*value = a.time
				a.lowered[key] = bound.Source
			}
		}
	}
	for _, b := range now.Budgets() {
		a.budgets = append(a.budgets, taskt.BudgetAbove{By: fmt.Sprintf("the policy (%s)", b.Source), Limits: b.Limits})
	}
	if at := now.Sandboxed(); at.File != "" {
		if s.Sandbox.Mode != sandbox.Required {
			a.lowered["sandbox"] = at
		}
		s.Sandbox.Mode = sandbox.Required
	}
	return a.narrowFolders(s, now)
}

// narrowFolders notes which folders of agent files are not read. A folder that the user has
// named and the policy forbids is an error.
func (a *above) narrowFolders(s *settings.Settings, now *policy.Policy) error {
	if err := now.CheckFolders(agentdefs.Sources()); err != nil {
		return fmt.Errorf("the policy: %w", err)
	}
	for _, from := range []string{policy.Workspace, policy.User} {
		if e, ok := errors.AsType[*policy.ForbiddenError](now.Allows(policy.AgentFolders, from)); ok {
			a.unread = append(a.unread, *e)
		}
	}
	from := s.AgentsFrom
	if slices.Contains(from, "all") && now.Lists(policy.AgentFolders) {
		from = agentdefs.Sources()
	}
	for _, dir := range s.AgentsDirs {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil && now.Lists(policy.AgentFolders) {
			return cli.Usage(fmt.Errorf("--agents-dir: %w", err))
		}
		from = append(slices.Clip(from), filepath.ToSlash(real))
	}
	for _, name := range from {
		if err := now.Allows(policy.AgentFolders, name); err != nil {
			return cli.Usage(err)
		}
	}
	return nil
}

// Limit is a limit that is in force.
type Limit struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Set   string `json:"set"` // "setting", or where the policy has it
}

// Limits returns the limits in force, by the settings and the policy.
func (p *Program) Limits() []Limit {
	s := &p.Settings
	values := map[string]string{
		"timeout": errtext.Duration(s.Timeout), "backgroundTimeout": errtext.Duration(s.BackgroundTimeout),
		"sandbox": string(s.Sandbox.Mode), "budget": cmp.Or(s.Budget.String(), "none"),
	}
	for key, value := range s.Bounded() {
		values[key] = strconv.Itoa(*value)
	}
	var all []Limit
	for _, key := range slices.Sorted(maps.Keys(values)) {
		l := Limit{Key: key, Value: values[key], Set: "setting"}
		if at, lowered := p.above.lowered[key]; lowered {
			l.Set = at.String()
		}
		all = append(all, l)
	}
	if p.above.time > 0 {
		all = append(all, Limit{policy.MaxTimeoutSeconds, strconv.Itoa(int(p.above.time / time.Second)), "the policy"})
	}
	for _, b := range p.above.budgets {
		all = append(all, Limit{"budget", b.Limits.String(), b.By})
	}
	return all
}

// policyFiles are the folder of the machine's policy, if there is one, and the file of
// --policy. No agent writes there.
func (p *Program) policyFiles() []string {
	var files []string
	if _, err := os.Lstat(policy.Dir); !errors.Is(err, fs.ErrNotExist) {
		files = append(files, policy.Dir)
	}
	if file := p.Settings.Policy; file != "" {
		files = append(files, file)
	}
	return files
}
