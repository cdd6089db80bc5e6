package mcpserver

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/session/record"
)

// wanted says for which children a call waits.
type wanted struct {
	ids []string // none: all children
	any bool     // until one of them has ended
}

// has reports whether the ids name a session, or one that it continues.
func (w wanted) has(sessionID string) bool {
	return slices.ContainsFunc(w.ids, func(id string) bool { return record.SameConversation(id, sessionID) })
}

// arguments begins the arguments with which a call is made again.
func (w wanted) arguments() string {
	var b strings.Builder
	if len(w.ids) > 0 {
		fmt.Fprintf(&b, `"sessionIds": ["%s"], `, strings.Join(w.ids, `", "`))
	}
	if w.any {
		b.WriteString(`"until": "any", `)
	}
	return b.String()
}

// waitState is how a call waits for its child.
type waitState struct {
	limit  time.Duration   // then it is answered without a result; 0 means never
	asked  map[string]bool // the questions that its host was asked before
	unseen map[string]bool // and its user does not answer
	round  int             // how often it was answered with questions
	heard  int             // messages of the child's progress that the host has had
}

// group is the children that a call waits for.
type group struct {
	id       string // of the one child; empty means of several
	want     wanted // as a call asks for it
	children []*child
	progress *childProgress
	done     <-chan struct{} // closed: all of them have ended, or the one that is wanted
	moved    <-chan struct{} // closed: the one that the call has started is in the background; nil means the call has started none
	release  func()          // ends what groupOf has begun
}

// single returns the group of one child.
func single(one *child) *group {
	id := one.SessionID()
	return &group{id: id, want: wanted{ids: []string{id}}, children: []*child{one}, progress: one.progress, done: one.Done(), release: func() {}}
}

// groupOf returns several children, to be waited for as one.
func groupOf(children []*child, want wanted) *group {
	parts := make([]*childProgress, 0, len(children))
	for _, child := range children {
		parts = append(parts, child.progress)
	}
	joined, part := join(parts)
	done, released := make(chan struct{}), make(chan struct{})
	ended := make(chan struct{}, len(children))
	var waiting sync.WaitGroup
	for _, child := range children {
		waiting.Go(func() {
			select {
			case <-child.Done():
				ended <- struct{}{}
			case <-released:
			}
		})
	}
	waiting.Go(func() {
		for range children {
			select {
			case <-ended:
			case <-released:
				return
			}
			if want.any {
				break
			}
		}
		close(done)
	})
	release := func() {
		close(released)
		waiting.Wait()
		part()
	}
	return &group{want: want, children: children, progress: joined, done: done, release: release}
}

// stop ends the children and returns when they have.
func (g *group) stop(reason string) {
	for _, child := range g.children {
		child.Cancel(reason)
	}
	for _, child := range g.children {
		<-child.Done()
	}
}
