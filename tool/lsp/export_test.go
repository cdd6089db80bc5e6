package lsp

import "sync"

// HoldStarts has the servers that are started from now on wait until release is called.
func (s *Servers) HoldStarts() (release func()) {
	held, hold := make(chan struct{}), make(chan struct{})
	go s.swept.Do(func() {
		close(held)
		<-hold
	})
	<-held
	return sync.OnceFunc(func() { close(hold) })
}
