//go:build browser

package main

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const treeScript = `
{"match": {"user": "delegate"}, "text": "I ask two.", "toolCalls": [
  {"name": "task", "arguments": {"description": "first part", "prompt": "stay one", "agentType": "general"}},
  {"name": "task", "arguments": {"description": "second part", "prompt": "stay two", "agentType": "explore"}}]}
{"match": {"user": "delegate"}, "text": "I go on."}
`

// TestPageTree: the keyboard leads to a subagent, to its sibling and back up; both are sent
// to the background, and their caller goes on. A key on a button is the button's. A row shows
// how much of its budget is used, from its beginning on.
func TestPageTree(t *testing.T) {
	w := startPageWorker(t, treeScript+pageScript, map[string]string{
		".agents/agents/thrifty.md": "---\ndescription: Spends little.\nbudget: { modelCalls: 5 }\n---\nSpend little.\n",
	})
	b := openBrowser(t)
	b.open(w.link())
	b.see("#connection", "live")
	b.click("nav a", "Agents")
	b.see(".agent .name", "general")
	b.press("j")
	b.press("j")
	b.until("document.activeElement.querySelector('.name').textContent === 'general'")
	b.fill("form.start [name=kind]", "talk")
	js[bool](b, "document.querySelector('form.start [name=kind]').dispatchEvent(new Event('change'))")
	b.fill("form.start [name=prompt]", "delegate it")
	b.click("form.start button", "Start")
	b.see(".block.assistant", "I ask two.")
	parent := js[string](b, "location.pathname")

	b.until("document.querySelectorAll('[aria-label=Subagents] .row').length === 2")
	b.press("j")
	b.press("Enter")
	here := js[string](b, "location.pathname")
	if here == parent || !strings.HasPrefix(here, "/sessions/") || js[string](b, "document.activeElement.id") != "view" {
		t.Fatalf("Enter has led from %s to %s", parent, here)
	}
	b.until("document.querySelector('.crumbs a[href=\"" + parent + "\"]')")
	b.until("document.querySelectorAll('.crumbs select option').length === 2")
	there, back := "]", "["
	if js[bool](b, "document.querySelector('.crumbs select').selectedIndex === 1") {
		there, back = back, there
	}
	for _, key := range []string{there, back} {
		b.see(".session .pill", "thinks")
		b.click(".session-head button", "To the background")
		b.until("![...document.querySelectorAll('.session-head button')].find((el) => el.textContent === 'To the background').checkVisibility()")
		b.press(key)
	}
	if got := js[string](b, "location.pathname"); got != here {
		t.Errorf("%s and %s have led from %s to %s", there, back, here, got)
	}
	b.press("Escape")
	b.see(".block.assistant", "I go on.")
	if got := js[string](b, "location.pathname"); got != parent {
		t.Errorf("Escape has led to %s, not to the caller %s", got, parent)
	}

	b.press("Escape")
	b.see(".row .name", "explore")
	w.task("thrifty", "stay cheap")
	b.until("[...document.querySelectorAll('.row .bar')].some((el) => !el.hidden && el.title.includes(' of 5 modelCalls'))")
	b.press("j")
	b.until("document.querySelector('.row.selected')")
	js[bool](b, "(document.getElementById('keys').focus(), true)")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("document.querySelector('dialog[open]')")
	if got := js[string](b, "location.pathname"); got != "/" {
		t.Errorf("Enter on a button has led to %s", got)
	}
}
