//go:build browser

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pageScript is what the models of these tests say, by what the prompt contains.
const pageScript = `
{"match": {"user": "stay"}, "text": ["Still at it"], "hang": true}
{"match": {"user": "tidy"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "echo \u202egnp.exe\u200b done && rm -rf build"}}]}
{"match": {"user": "tidy"}, "text": "I have tidied nothing."}
{"match": {"user": "touch"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "touch one.txt"}}]}
{"match": {"user": "touch"}, "text": "Touched."}
{"match": {"user": "mkdir one"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "mkdir one"}}]}
{"match": {"user": "mkdir one"}, "text": "Made one."}
{"match": {"user": "mkdir two"}, "toolCalls": [{"name": "shell_exec", "arguments": {"command": "mkdir two"}}]}
{"match": {"user": "mkdir two"}, "text": "Made two."}
{"match": {"user": "plan it"}, "toolCalls": [{"name": "plan_exit", "arguments": {"plan": "1. Tidy.\\n2. Rest."}}]}
{"match": {"user": "plan it"}, "text": "Carried out."}
{"match": {"user": "good morning"}, "text": "Good morning to you.", "repeat": true}
{"match": {"user": "how are you"}, "text": "I am well.", "repeat": true}
{"match": {"user": "still there"}, "text": "I am here again.", "repeat": true}
`

// TestPageApprovals: a call is approved by a click, another denied by keys with a reason
// for the model. "Always" lets through two calls that match, in two tabs at once.
func TestPageApprovals(t *testing.T) {
	w := startPageWorker(t, pageScript, nil)
	first := openBrowser(t)
	first.open(w.link())
	first.see("#connection", "live")
	second := first.tab()
	second.open("http://" + w.addr + "/")
	js[bool](second, `(Object.defineProperty(document, 'hidden', { value: true }),
		globalThis.Notification = class { static permission = 'granted'; constructor(title, { body }) { globalThis.notified = body; } }, true)`)

	w.task("general", "touch a file")
	for _, b := range []*tab{first, second} {
		b.see(".card", "touch one.txt")
		b.until("document.title.startsWith('(1) ')")
		b.see(".row .tool", "touch one.txt")
	}
	if got := js[string](second, "globalThis.notified ?? ''"); !strings.Contains(got, "general asks to run a command") {
		t.Errorf("the desktop was told %q", got)
	}
	first.click(".card [data-answer=once]", "Approve")
	for _, b := range []*tab{first, second} {
		b.until("document.querySelectorAll('.card').length === 0 && !document.title.startsWith('(')")
		b.until("document.querySelector('.row .dot.completed')")
	}

	w.task("general", "tidy up")
	first.see(".card .hides", `\u{202e}`)
	first.until("document.querySelector('.card [data-answer=deny]:enabled')")
	first.press("n")
	first.until("document.activeElement.matches('.card')")
	first.press("n")
	first.until("document.activeElement.matches('.feedback input')")
	first.fill(".feedback input", "keep the build folder")
	first.click(".feedback button", "Deny")
	second.until("document.querySelectorAll('.card').length === 0")
	second.until("document.querySelectorAll('.row .dot.completed').length === 4")
	reasons := false
	for _, r := range w.model.Received() {
		reasons = reasons || strings.Contains(string(r.Body), "keep the build folder")
	}
	if !reasons {
		t.Error("the model was not told why")
	}

	w.task("general", "mkdir one")
	w.task("general", "mkdir two")
	second.until("document.querySelectorAll('.card').length === 2")
	second.see(".card .always", `{"shell_exec":{"mkdir *":"allow"}}`)
	second.click(".card [data-answer=always]", "Always")
	second.until("document.querySelectorAll('.card').length === 0")
	second.until("document.querySelectorAll('.row .dot.completed').length === 8")
	rules, err := os.ReadFile(filepath.Join(w.dir, "state", "permissions.jsonc"))
	if err != nil || !strings.Contains(string(rules), `"mkdir *": "allow"`) {
		t.Errorf("the rules: %v\n%s", err, rules)
	}
}

// TestPageRestart: the page goes on by itself where a worker was killed and another one is
// started, and the keyboard leads through the tree.
func TestPageRestart(t *testing.T) {
	w := startPageWorker(t, pageScript, nil)
	b := openBrowser(t)
	b.open(w.link())
	id := w.task("general", "stay at it")
	b.see(".row .state", "thinks")
	b.press("j")
	b.press("j")
	b.until("document.querySelector('.row.selected .name').textContent === 'general'")
	b.press("Enter")
	b.until("location.pathname === '/sessions/" + id + "'")
	b.see(".session .pill", "thinks")
	b.see(".crumbs", "HTTP task general")

	w.end(os.Kill)
	b.see("#connection", "reconnecting")
	w.start()
	b.see("#connection", "live")
	b.see(".session .pill", "interrupted")
	b.press("Escape")
	b.until("location.pathname !== '/sessions/" + id + "'")
	b.see(".session h1", "caller")

	again := w.task("general", "stay again")
	b.open("http://" + w.addr + "/sessions/" + again)
	b.see(".session .pill", "thinks")
	b.click(".session-head button", "Stop")
	b.see(".session .pill", "cancelled")
}

// TestPageConversation: a conversation with a primary agent is begun, goes on in its session,
// and in the next run of it where the worker was killed.
func TestPageConversation(t *testing.T) {
	w := startPageWorker(t, pageScript, map[string]string{
		".agents/agents/plan.md":  "---\ndescription: Plans.\nmode: primary\nplanExit: build\npermission:\n  \"*\": deny\n  plan_exit: allow\n---\nPlan.\n",
		".agents/agents/build.md": "---\ndescription: Builds.\nmode: primary\n---\nBuild.\n",
	})
	b := openBrowser(t)
	b.open(w.link())
	b.see("#connection", "live")
	b.click("nav a", "Agents")
	b.fill("form.start [name=kind]", "talk")
	js[bool](b, "document.querySelector('form.start [name=kind]').dispatchEvent(new Event('change'))")
	b.see("form.start [name=agent] option", "primary")
	b.fill("form.start [name=prompt]", "good morning")
	b.click("form.start button", "Start")
	b.see(".block.assistant", "Good morning to you.")
	b.see(".session .pill", "idle")
	address := js[string](b, "location.pathname")
	b.fill(".sending textarea", "how are you")
	b.click(".sending button", "Send")
	b.see(".block.assistant", "I am well.")
	b.see(".session .pill", "idle")

	w.end(os.Kill)
	b.see("#connection", "reconnecting")
	w.start()
	b.see(".session .pill", "interrupted")
	b.fill(".sending textarea", "still there")
	b.click(".sending button", "Send")
	b.until("location.pathname.startsWith('/sessions/') && location.pathname !== '" + address + "'")
	b.see(".block.assistant", "I am here again.")
	b.see(".block.assistant", "I am well.")

	b.click("nav a", "Agents")
	b.fill("form.start [name=kind]", "talk")
	js[bool](b, "document.querySelector('form.start [name=kind]').dispatchEvent(new Event('change'))")
	b.see("form.start [name=agent] option", "plan")
	b.fill("form.start [name=agent]", "plan")
	b.fill("form.start [name=prompt]", "plan it")
	b.click("form.start button", "Start")
	b.see(".card header", "carry out its plan")
	b.see(".card .arguments", "2. Rest.")
	b.click(".card [data-answer=once]", "Carry it out")
	b.see(".block.assistant", "Carried out.")
}
