package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/agentworker/worker/internal/spendlimit"
	"github.com/agentworker/worker/permission"
)

// Bound is the most that a setting may be. The zero Bound bounds nothing.
type Bound struct {
	Most   int
	Source permission.Source
}

// MaxTimeoutSeconds bounds how long a session may run, whoever says how long it may.
const MaxTimeoutSeconds = "maxTimeoutSeconds"

// bounded are the keys of "limits". All but the last are those of settings.
var bounded = []string{"maxDepth", "maxChildren", "maxPerParent", "maxToolCalls", MaxTimeoutSeconds}

// Budget is what a tree of sessions may use.
type Budget struct {
	Limits spendlimit.Limits
	Source permission.Source
}

// Budgets returns the budget of each file that has one. All of them hold.
func (p *Policy) Budgets() []Budget {
	if p == nil {
		return nil
	}
	return p.budgets
}

// Bound returns the least bound that the files have for a setting, by its key.
func (p *Policy) Bound(key string) Bound {
	if p == nil {
		return Bound{}
	}
	return p.bounds[key]
}

// Sandboxed returns where the policy requires a sandbox for commands. Without a file it
// does not.
func (p *Policy) Sandboxed() permission.Source {
	if p == nil {
		return permission.Source{}
	}
	return p.sandbox
}

// MasksForModel returns where the policy demands that models read placeholders instead of
// credentials. Without a file it does not.
func (p *Policy) MasksForModel() permission.Source {
	if p == nil {
		return permission.Source{}
	}
	return p.masks
}

// limits reads bounds of settings.
func (r *reader) limits(v *hujson.Value) error {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return r.refuse(v, "limits: want an object with the keys %s", strings.Join(bounded, ", "))
	}
	if err := r.once(object); err != nil {
		return err
	}
	for i := range object.Members {
		m := &object.Members[i]
		key := m.Name.Value.(hujson.Literal).String()
		if !slices.Contains(bounded, key) {
			return r.refuse(&m.Name, "limits: unknown key %q (known: %s)", key, strings.Join(bounded, ", "))
		}
		text, _ := m.Value.Value.(hujson.Literal)
		n, err := strconv.Atoi(string(text))
		if err != nil || n < 1 {
			return r.refuse(&m.Value, "limits: %s: want a whole number from 1", key)
		}
		if before := r.policy.bounds[key]; before.Most == 0 || n < before.Most {
			if r.policy.bounds == nil {
				r.policy.bounds = make(map[string]Bound)
			}
			r.policy.bounds[key] = Bound{Most: n, Source: r.at(&m.Value)}
		}
	}
	return nil
}

// budget reads what a tree of sessions may use.
func (r *reader) budget(v *hujson.Value) error {
	if object, ok := v.Value.(*hujson.Object); ok {
		if err := r.once(object); err != nil {
			return err
		}
	}
	plain := v.Clone()
	plain.Standardize()
	var limits spendlimit.Limits
	err := json.Unmarshal(plain.Pack(), &limits)
	switch {
	case err != nil:
		return r.refuse(v, "budget: %v", err)
	case limits.None():
		return r.refuse(v, "budget: it limits nothing: add tokens, cost, modelCalls, toolCalls or time")
	case limits.Ask:
		return r.refuse(v, "budget: then: nobody can lift what a policy sets: leave it out")
	}
	r.policy.budgets = append(r.policy.budgets, Budget{limits, r.at(v)})
	return nil
}

// sandboxed reads whether commands need a sandbox.
func (r *reader) sandboxed(v *hujson.Value) error {
	if text, ok := v.Value.(hujson.Literal); !ok || text.Kind() != '"' || text.String() != "required" {
		return r.refuse(v, `sandbox: want "required"`)
	}
	r.policy.sandbox = r.at(v)
	return nil
}

// masked reads whether models read placeholders instead of credentials.
func (r *reader) masked(v *hujson.Value) error {
	switch v.Value.Kind() {
	case 't':
		r.policy.masks = r.at(v)
	case 'f':
	default:
		return r.refuse(v, "maskForModel: want true or false")
	}
	return nil
}

// boundLines says for people what is bounded, a line for each setting.
func (p *Policy) boundLines() []string {
	var lines []string
	for _, key := range bounded {
		if b := p.bounds[key]; b.Most > 0 {
			lines = append(lines, fmt.Sprintf("%s: at most %d (%s)", key, b.Most, b.Source))
		}
	}
	for _, b := range p.budgets {
		lines = append(lines, fmt.Sprintf("budget: each task with all that it starts at most %s (%s)", b.Limits, b.Source))
	}
	if p.sandbox.File != "" {
		lines = append(lines, fmt.Sprintf("sandbox: required (%s)", p.sandbox))
	}
	if p.masks.File != "" {
		lines = append(lines, fmt.Sprintf("maskForModel: credentials are hidden from models (%s)", p.masks))
	}
	return lines
}
