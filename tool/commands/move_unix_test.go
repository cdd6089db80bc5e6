//go:build unix && !darwin

package commands_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/commands"
)

// moved has the command for which a call waits go on in the background, as soon as one does.
func (p *place) moved(by string) {
	p.t.Helper()
	for range 20 { // a busy machine may take long to start it
		err := p.commands.Move(by)
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "no call of the session waits") {
			p.t.Fatal(err)
		}
	}
	p.t.Fatal("no call has waited for a command")
}

// TestMove: a person moves a command to the background while a call waits for it. The call returns, no
// output is lost, and the model gets a message at the end.
func TestMove(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		p.noticed = make(chan commands.Notice, 1)
		result := make(chan tool.Result)
		go func() {
			result <- p.call("shell_exec", args{"command": "printf 'begun, '; until [ -e go ]; do sleep 0.02; done; echo done; exit 3"})
		}()
		p.moved("anna")
		r := <-result
		if want := "anna has moved the command to the background, so that you can do other work: cmd_1 runs in the background"; r.IsError || !strings.HasPrefix(r.Text, want) || r.Meta["commandId"] != "cmd_1" {
			t.Errorf("the call returned %+v", r)
		}
		p.has("shell_output", args{"until": "begun"}, "begun, ", "cmd_1 runs")
		p.has("shell_input", args{"id": "cmd_1", "text": "y\n"}, "cmd_1 has no input: it began without background")
		if err := os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		n := <-p.noticed
		if n.End == nil || n.End.Status != 3 {
			t.Errorf("the notice is %+v", n)
		}
		p.has("shell_output", args{"id": "cmd_1", "from": 0}, "begun, done\n", "exit status 3")
		if told := p.told(); !strings.Contains(told, "cmd_1 start printf") {
			t.Error(told)
		}
		if err := p.commands.Move("anna"); err == nil || !strings.Contains(err.Error(), "no call of the session waits for a command") {
			t.Error(err)
		}
	})
}

// TestMoveEnds: a moved command ends with its session, and with shell_stop; of a long output before the
// move the beginning and the end are kept.
func TestMoveEnds(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		last := filepath.Join(p.dir, "last")
		result := make(chan tool.Result)
		run := func() {
			result <- p.call("shell_exec", args{"command": "yes 0123456789 | head -c 400000; echo LAST > last; echo LAST; exec sleep 1000"})
		}
		go run()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, err := os.Stat(last); err != nil; _, err = os.Stat(last) {
			select {
			case r := <-result:
				t.Fatalf("the command has ended: %+v", r)
			case <-ctx.Done():
				t.Fatal("the command has not written all")
			case <-time.After(10 * time.Millisecond):
			}
		}
		p.moved("anna")
		<-result
		p.has("shell_output", args{"until": "LAST"}, "LAST")
		if begins := p.call("shell_output", args{"from": 0}).Text; !strings.HasPrefix(begins, "0123456789\n0123456789\n") {
			t.Errorf("the output begins with %.100q", begins)
		}
		const kept = 25 << 10 // from the beginning: half of what a result has
		if cut := p.call("shell_output", args{"from": kept}).Text; !regexp.MustCompile(`^\n\[… [1-9]\d* bytes of the output are lost here: .*\]\n`).MatchString(cut) {
			t.Errorf("at its cut it is %.200q", cut)
		}
		p.has("shell_stop", args{"id": "cmd_1"}, "stopped by shell_stop")
		go run()
		p.moved("anna")
		<-result
		p.commands.End("the end of its session")
		if told := p.told(); !strings.Contains(told, "cmd_2 end ended by signal: terminated, stopped by the end of its session") {
			t.Error(told)
		}
	})
}
