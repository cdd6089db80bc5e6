package lsp

import (
	"time"

	"github.com/agentworker/worker/internal/trusted"
)

// Trusted is what a person has said of one content of a server.
type Trusted struct {
	Name string    `json:"name"`
	Time time.Time `json:"time"`
}

// TrustedName implements [trusted.Named].
func (t Trusted) TrustedName() string { return t.Name }

// Trust has the contents of a repository's servers that a person trusts, by their hashes. It is a
// file of the user's state, and safe for concurrent use, also by several processes.
type Trust struct{ file *trusted.File[Trusted] }

// OpenTrust returns what the file at path says. The file need not exist.
func OpenTrust(path string) *Trust { return &Trust{trusted.Open[Trusted](path)} }

// has reports whether a person trusts the present content of a server. A file that can't be read
// trusts nothing.
func (t *Trust) has(s *Server) bool {
	all, err := t.file.Read()
	_, ok := all[s.Hash()]
	return err == nil && ok
}

// before reports whether a person trusts some content of a server's name.
func (t *Trust) before(name string) bool {
	return trusted.HasName(t.file, name)
}

// Add trusts the present content of a server, and no other content of its name any more.
func (t *Trust) Add(s *Server, at time.Time) error {
	return trusted.Set(t.file, s.Hash(), Trusted{Name: s.Name, Time: at})
}

// Forget trusts no content of a server of the name. It reports whether one was trusted.
func (t *Trust) Forget(name string) (known bool, err error) {
	return trusted.Forget(t.file, name)
}
