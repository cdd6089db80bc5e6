package sandbox

import (
	"testing"
	"time"

	"github.com/agentworker/worker/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// TestLateAnswer holds that a late answer does not answer the next question.
func TestLateAnswer(t *testing.T) {
	ours, theirs, err := socketpair(unix.SOCK_SEQPACKET)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	answer := func(a wire.Spawned, fds ...int) {
		body, err := wire.Pack(a)
		if err == nil {
			err = unix.Sendmsg(int(theirs.Fd()), body, unix.UnixRights(fds...), nil, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	h := &holder{socket: ours}
	if _, err := h.ask(nil, time.Millisecond); err == nil {
		t.Fatal("a holder that does not answer has answered")
	}
	answer(wire.Spawned{Number: 1}, int(theirs.Fd()))
	answer(wire.Spawned{Number: 2, Error: "the second"})
	if _, err := h.ask(nil, time.Minute); err == nil || err.Error() != "the second" {
		t.Errorf("got %v, want the answer to the second question", err)
	}
}
