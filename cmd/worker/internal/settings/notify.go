package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/frontdoor/notify"
)

// notifyValue returns the setting notify. Texts in it may be secrets, so that it shows only where
// messages go.
func (s *Settings) notifyValue() *value {
	read := func(data []byte) error {
		targets, err := notify.Parse(data)
		s.Notify = append(s.Notify, targets...)
		return err
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

// Secret returns the variables of the environment that settings name and that agents do not
// get, whatever they are called.
func (s *Settings) Secret() []string {
	names := append(s.AgentKeys.Variables(), "WORKER_NOTIFY")
	for _, t := range s.Notify {
		names = append(names, t.Variables()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
