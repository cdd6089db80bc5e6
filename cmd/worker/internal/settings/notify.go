package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/frontdoor/notify"
)

// notifyValue returns the setting notify. Texts in it may be secrets, so that it shows only where
// messages go, and only checkNotify reports what is wrong.
func (s *Settings) notifyValue() *value {
	read := func(data []byte) error {
		targets, err := notify.Parse(data)
		s.Notify, s.wrongNotify = append(s.Notify, targets...), errors.Join(s.wrongNotify, err)
		return nil
	}
	return &value{
		kind: "JSON", adds: true,
		show: func() string {
			var to []string
			for _, t := range s.Notify {
				to = append(to, fmt.Sprintf("%s (%s)", t.String(), strings.Join(t.On, ", ")))
			}
			return strings.Join(to, "; ")
		},
		set:    func(text string) error { return read([]byte(text)) },
		config: func(raw json.RawMessage, _ string) error { return read(raw) },
	}
}

// checkNotify returns what is wrong with the setting.
func (s *Settings) checkNotify() error {
	if s.wrongNotify != nil {
		return fmt.Errorf("notify: %w", s.wrongNotify)
	}
	return nil
}

// Secret returns the variables of the environment that agents do not get: those with a secret of
// the settings.
func (s *Settings) Secret() []string {
	names := append(s.AgentKeys.Variables(), "WORKER_NOTIFY")
	for _, t := range s.Notify {
		names = append(names, t.Variables()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
