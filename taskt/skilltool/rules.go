package skilltool

import (
	"errors"
	"fmt"

	"github.com/agentworker/worker/permission"
)

// Layers are [Rules] without a session.
type Layers struct{ *permission.Layers }

// Has implements [Rules].
func (l Layers) Has(tool string) bool { return !l.DeniesAll(tool) }

// Denied implements [Rules].
func (l Layers) Denied(values ...permission.Value) error {
	if d := l.Decide(values); d.Action == permission.Deny {
		return errors.New(d.Reason())
	}
	return nil
}

// Forbidden implements [Rules].
func (l Layers) Forbidden(values ...permission.Value) error {
	if rule := l.Forbids(values); rule != nil {
		return fmt.Errorf("denied by the rule %v (%s)", *rule, rule.Source)
	}
	return nil
}

// Withheld is Forbidden for what nobody is asked about.
func (l Layers) Withheld(values ...permission.Value) error {
	if rule := l.Withholds(values); rule != nil {
		return fmt.Errorf("the rule %v (%s) does not let the agent read it", *rule, rule.Source)
	}
	return nil
}
