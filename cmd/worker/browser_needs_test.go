//go:build browser

package main

import (
	"strings"
	"testing"
)

const spendScript = `
{"match": {"user": "spend"}, "toolCalls": [{"name": "list_dir", "arguments": {"path": "."}}]}
`

// TestPageNeeds: a stalled session and one with a used-up budget are cards that need a
// person. One that has ended is deleted, after a question. It disappears in other tabs,
// with its card.
func TestPageNeeds(t *testing.T) {
	w := startPageWorker(t, spendScript+pageScript, map[string]string{
		".agents/agents/thrifty.md": "---\ndescription: Spends little.\nbudget: { modelCalls: 1 }\npermission: allow\n---\nSpend little.\n",
	}, "--stall-notice", "1s")
	b := openBrowser(t)
	b.open(w.link())
	b.see("#connection", "live")

	stays := w.task("general", "stay at it")
	b.see(".card.note .why", "stalled")
	b.see(".card.note .detail", "Nothing has happened for")
	b.see(".row .state", "stalled")
	b.until("document.title.startsWith('(1) ')")
	b.click(".card.note button", "Stop")
	b.until("document.querySelectorAll('.card').length === 0 && document.querySelector('.row .dot.cancelled')")

	used := w.task("thrifty", "spend it")
	b.see(".card.note .why", "over its budget")
	b.see(".card.note .detail", "1 of 1 modelCalls are used.")
	other := b.tab()
	other.open("http://" + w.addr + "/sessions/" + used)
	js[bool](other, "(globalThis.confirm = (text) => { globalThis.asked = text; return true; }, true)")
	other.click(".session-head button", "Delete")
	other.until("location.pathname.startsWith('/sessions/') && location.pathname !== '/sessions/" + used + "'")
	if asked := js[string](other, "globalThis.asked"); !strings.Contains(asked, "for good") {
		t.Errorf("somebody was asked %q", asked)
	}
	b.until("document.querySelectorAll('.card').length === 0 && ![...document.querySelectorAll('.row .name')].some((el) => el.textContent === 'thrifty')")
	if status := js[int](b, "fetch('/v1/sessions/"+used+"').then((r) => r.status)"); status != 404 {
		t.Errorf("what was deleted is answered with %d", status)
	}
	if status := js[int](b, "fetch('/v1/sessions/"+stays+"').then((r) => r.status)"); status != 200 {
		t.Errorf("what was not deleted is answered with %d", status)
	}

	running := w.task("general", "stay again")
	b.open("http://" + w.addr + "/sessions/" + running)
	b.see(".session .pill", "thinks")
	if shown := js[bool](b, "[...document.querySelectorAll('.session-head button')].find((el) => el.textContent === 'Delete').checkVisibility()"); shown {
		t.Error("a session that runs can be deleted")
	}
}
