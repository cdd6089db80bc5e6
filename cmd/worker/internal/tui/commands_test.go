package tui

import (
	"testing"

	"github.com/agentworker/worker/eventbus/event"
)

// TestTopCommands: a command in the background is seen by its last line, needs somebody where it waits
// for input, and is stopped by a key.
func TestTopCommands(t *testing.T) {
	u := openTop(t, 80, 24)
	u.update(shop())
	u.press("c")
	u.sees("no command goes on in its background")
	path := event.Path{{SessionID: "ses_root"}}
	u.update(Facts{
		{Path: path, Event: event.CommandStart{CommandID: "cmd_1", Command: "npm create vite"}, Time: now, Seq: 1},
		{Path: path, Event: event.CommandProgress{CommandID: "cmd_1", Line: "ready in 300 ms", Bytes: 16}, Time: now, Seq: 2},
	})
	u.press("home", "c", "n")
	u.sees("cmd_1 ready in 300 ms")
	u.update(Facts{{Path: path, Event: event.CommandProgress{CommandID: "cmd_1", Line: "Project name:", Bytes: 30, Waits: true}, Time: now, Seq: 3}})
	u.sees(">!lead")
	u.sees("cmd_1 waits for input: Project name:")
	u.press("c")
	u.sees("stop cmd_1 of lead ses_root? y/n")
	u.press("y")
	u.press("f")
	if calls := u.calls; len(calls) != 2 || calls[0] != "stop cmd_1 of ses_root" || calls[1] != "move command of ses_root" {
		t.Errorf("was asked for: %v", calls)
	}
	u.update(Facts{{Path: path, Event: event.CommandEnd{CommandID: "cmd_1"}, Time: now, Seq: 4}})
	if s := u.m.tree.Get("ses_root"); s.Needs() == "input" || s.Command() != nil {
		t.Errorf("the command has ended: %+v", s.Commands)
	}
}
