package hooks

import (
	"strings"
	"time"

	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/trusted"
)

// State says whether a hook may run.
type State string

// The states of hooks.
const (
	IsTrusted  State = "trusted"
	NotTrusted State = "not trusted"
	Changed    State = "changed" // one of its scripts has changed: the calls that it guards are denied
)

// Trusted is what a person has said of one content of a hook.
type Trusted struct {
	Source string    `json:"source"` // where it was
	Same   string    `json:"same"`   // [hookconfig.Hook.Same]
	Time   time.Time `json:"time"`
}

// Trust has the hooks of the repository that a person trusts, by their hashes. It is safe for
// concurrent use. A nil one trusts nothing.
type Trust struct{ file *trusted.File[Trusted] }

// OpenTrust returns what the file at path says. The file need not exist.
func OpenTrust(path string) *Trust { return &Trust{trusted.Open[Trusted](path)} }

// State returns whether a hook of the repository may run.
func (t *Trust) State(h *hookconfig.Hook, root string) State {
	if t == nil {
		return NotTrusted
	}
	all, err := t.file.Read()
	if err != nil {
		return Changed
	}
	if len(all) == 0 {
		return NotTrusted
	}
	if _, ok := all[h.Hash(root)]; ok {
		return IsTrusted
	}
	same := h.Same()
	for _, said := range all {
		if said.Same == same {
			return Changed
		}
	}
	return NotTrusted
}

// knows reports whether a person has trusted a hook of a file, as people see its name, or may have.
func (t *Trust) knows(file string) bool {
	if t == nil {
		return false
	}
	all, err := t.file.Read()
	for _, said := range all {
		if strings.HasPrefix(said.Source, file) {
			return true
		}
	}
	return err != nil
}

// Add trusts the present content of hooks.
func (t *Trust) Add(all []*hookconfig.Hook, root string) error {
	return t.file.Change(func(known map[string]Trusted) {
		for _, h := range all {
			forget(known, h)
			known[h.Hash(root)] = Trusted{Source: h.Source(), Same: h.Same(), Time: time.Now().UTC()}
		}
	})
}

// Forget trusts hooks no longer, and returns how many of them were trusted.
func (t *Trust) Forget(all []*hookconfig.Hook) (n int, err error) {
	err = t.file.Change(func(known map[string]Trusted) {
		for _, h := range all {
			n += forget(known, h)
		}
	})
	return n, err
}

func forget(known map[string]Trusted, h *hookconfig.Hook) (n int) {
	same := h.Same()
	for hash, said := range known {
		if said.Same == same {
			delete(known, hash)
			n++
		}
	}
	return n
}
