package commands

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentworker/worker/permission"
)

// notices is a session that keeps what it is notified of.
type notices []Notice

func (*notices) CommandStarted(Info)                                   {}
func (*notices) CommandEnded(Info, End)                                {}
func (*notices) CommandProgressed(Info, Progress)                      {}
func (n *notices) CommandMatched(_ Info, now Notice)                   { *n = append(*n, now) }
func (*notices) Judge(context.Context, string, permission.Value) error { return nil }

// TestLastNotice: the end of a command is told after the last notice of lines, too, unless the model knows of it.
func TestLastNotice(t *testing.T) {
	for _, known := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			log, err := newLog(t.TempDir(), logBytes)
			if err != nil {
				t.Fatal(err)
			}
			defer log.close()
			c, told, over := &command{log: log, done: make(chan struct{}), stopped: make(chan struct{})}, new(notices), make(chan struct{})
			shown := make(chan struct{})
			close(shown)
			go func() {
				defer close(over)
				c.notify(told, regexp.MustCompile("^ready"), shown)
			}()
			for i := range maxNotices + 5 {
				fmt.Fprintf(log, "ready %d\n", i)
				<-time.After(2 * noticeWindow)
			}
			if known {
				c.stop("shell_stop", true)
			}
			close(c.done)
			<-over
			want := maxNotices + 1
			if known {
				want--
			}
			if len(*told) != want {
				t.Fatalf("known: %v: %d notices, want %d", known, len(*told), want)
			}
			if last := (*told)[maxNotices-1]; !last.Last || last.End != nil {
				t.Errorf("the last notice of lines: %+v", last)
			}
			if last := (*told)[want-1]; !known && (last.End == nil || last.Number != want || len(last.Lines) > 0) {
				t.Errorf("the notice of the end: %+v", last)
			}
		})
	}
}
