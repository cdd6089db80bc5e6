//go:build unix

package eventbus_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/natstest"
)

// TestStoppedLeader: while the process that leads is stopped the others wait, for
// longer than for a store that is away, and lose nothing. Whoever opens the store
// meanwhile is told which process it is, and what to do.
func TestStoppedLeader(t *testing.T) {
	t.Parallel() // it waits, most of its time
	dir := t.TempDir()
	var members []*running
	for i := range 3 {
		m := startMember(t, dir, i)
		members = append(members, m)
		t.Cleanup(func() {
			_ = m.cmd.Process.Kill()
			<-m.done
			_ = m.cmd.Wait()
		})
		select {
		case <-m.ready:
		case <-m.done:
			t.Fatalf("%s: %v", m.session, m.wrong)
		}
	}
	for _, m := range members {
		m.progress(t)
	}
	leader := members[leaderOf(t, dir, members)]
	natstest.StopProcess(t, leader.cmd.Process, syscall.SIGSTOP)
	for range 3 { // each for 5 s
		bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: dir})
		if err == nil {
			bus.Close()
		}
		pid := leader.cmd.Process.Pid
		for _, part := range []string{fmt.Sprintf("process %d (eventbus.test", pid), "is stopped", "fg", fmt.Sprintf("kill -CONT %d", pid)} {
			if !errors.Is(err, eventbus.ErrNoLeader) || !strings.Contains(err.Error(), part) {
				t.Errorf("opening the store: %v, want %q in it", err, part)
			}
		}
	}
	if err := leader.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		m.progress(t)
	}
	for _, m := range members {
		m.mu.Lock()
		if len(m.wrong) > 0 {
			t.Errorf("%s: %v", m.session, m.wrong)
		}
		m.mu.Unlock()
	}
}
