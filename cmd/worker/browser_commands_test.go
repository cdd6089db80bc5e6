//go:build browser

package main

import "testing"

const commandsScript = `
{"match": {"user": "ask"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "echo one; printf 'Go on? [y/N] '; read x; sleep 10000", "background": true, "tty": true}}]}
{"match": {"user": "ask"}, "toolCalls": [{"name": "shell_output", "arguments": {"id": "cmd_1", "until": "never", "waitSeconds": 600}}]}
{"match": {"user": "ask"}, "text": "It was stopped."}
`

// TestPageCommands: a command in the background is on the page of its session. When it waits for
// input, its session needs somebody, who stops the command.
func TestPageCommands(t *testing.T) {
	w := startPageWorker(t, commandsScript+pageScript, map[string]string{
		".agents/agents/runner.md": "---\ndescription: Runs commands.\npermission: allow\n---\nRun.\n",
	}, "--allow", "shell_exec:*")
	b := openBrowser(t)
	b.open(w.link())
	b.see("#connection", "live")
	id := w.task("runner", "ask it")
	b.see(".card.note .why", "waits for input")
	b.see(".card.note .detail", "Go on? [y/N]")
	b.open("http://" + w.addr + "/sessions/" + id)
	b.see(".commands .id", "cmd_1")
	b.see(".commands .line", "echo one; printf")
	b.see(".commands .state", "waits for input, runs for")
	b.see(".commands .last", "Go on? [y/N]")
	b.shoot("commands-wide", 1280, 900, "light")
	b.shoot("commands-phone", 390, 844, "light")
	b.see(".card.note button", "Stop cmd_1")
	b.click(".commands button", "Stop")
	b.until("document.querySelector('.commands').hidden && document.querySelectorAll('.card').length === 0")
	b.see(".session .pill", "completed")
}
