//go:build browser

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const questionScript = `
{"match": {"user": "ask one"}, "toolCalls": [{"name": "ask_user", "arguments": {"question": "Which <b>one</b>?\n\u202eeno", "options": ["postgres", "<img src=x onerror=alert(1)>"], "default": "postgres"}}]}
{"match": {"user": "ask one", "result": "answered:\n<img"}, "text": "One is told."}
{"match": {"user": "ask some"}, "toolCalls": [{"name": "ask_user", "arguments": {"question": "Which parts?", "options": ["a", "b", "c"], "multiple": true}}]}
{"match": {"user": "ask some", "result": "answered:\n- a\n- c"}, "text": "Some are told."}
{"match": {"user": "ask in words"}, "toolCalls": [{"name": "ask_user", "arguments": {"question": "Where?"}}]}
{"match": {"user": "ask in words", "result": "answered:\nthe staging one"}, "text": "It is told."}
{"match": {"user": "ask nobody"}, "toolCalls": [{"name": "ask_user", "arguments": {"question": "Why?"}}]}
{"match": {"user": "ask nobody", "result": "says:\nnot now"}, "text": "Nothing is told."}
`

// TestPageQuestions: what an agent asks is a card with a choice of one, of several, or a text. Its
// words are text, whatever they say, and nothing hides in them.
func TestPageQuestions(t *testing.T) {
	w := startPageWorker(t, questionScript, nil)
	b := openBrowser(t)
	b.open(w.link())
	b.see("#connection", "live")
	over := func() { b.until("document.querySelectorAll('.card').length === 0") }

	w.task("general", "ask one")
	b.see(".card .asked", "Which <b>one</b>?")
	b.see(".card .hides", `\u{202e}`)
	b.see(".card .label", "this holds: postgres")
	if got := js[string](b, "document.querySelector('.card header').textContent"); !strings.Contains(got, "general asks a question") {
		t.Errorf("the card says %q", got)
	}
	b.until("!document.querySelector('.card img') && document.querySelectorAll('.card input[type=radio]').length === 2 && document.querySelector('.card .good:enabled')")
	b.click(".card .good", "Answer")
	b.see(".card .status", "There is no answer yet.")
	b.click(".card .options label", "onerror")
	b.shoot("question", 1000, 700, "light")
	b.click(".card .good", "Answer")
	over()

	w.task("general", "ask some")
	b.until("document.querySelectorAll('.card input[type=checkbox]').length === 3 && document.querySelector('.card .good:enabled')")
	b.click(".card .options label", "a")
	b.click(".card .options label", "c")
	b.click(".card .good", "Answer")
	over()

	w.task("general", "ask in words")
	b.until("document.querySelector('.card textarea') && document.querySelector('.card .good:enabled')")
	b.fill(".card textarea", "the staging one")
	b.click(".card .good", "Answer")
	over()

	w.task("general", "ask nobody")
	b.until("document.querySelector('.card [data-answer=deny]:enabled')")
	b.press("n")
	b.until("document.activeElement.classList.contains('card')")
	b.press("n")
	b.until("document.activeElement.name === 'reason'")
	b.fill(".card .feedback input", "not now")
	b.click(".card .feedback button", "Send")
	over()
	b.until("document.querySelectorAll('.row .dot.completed').length === 8")
}

// TestPageQuestionLink: the link in a message leads one person to the card of its question, after
// a button. They can answer it, and the link is of no more use.
func TestPageQuestionLink(t *testing.T) {
	told := filepath.Join(t.TempDir(), "told")
	w := startPageWorker(t, questionScript, nil, "--notify", `[{"on":["question"],"command":"cat >`+told+`.new; mv `+told+`.new `+told+`","person":"anna"}]`)
	if out, err := w.command("tokens", "add", "anna", "--scope", "read,approve").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.task("general", "ask one")
	var message struct {
		Data struct{ Link, ApprovalID string }
	}
	for message.Data.Link == "" && t.Context().Err() == nil {
		if text, err := os.ReadFile(told); err == nil {
			if err := json.Unmarshal(text, &message); err != nil || message.Data.Link == "" {
				t.Fatalf("%v: %s", err, text)
			}
		}
	}
	b := openBrowser(t)
	b.open(message.Data.Link)
	b.see("p", "an answer from anna")
	b.shoot("question-link", 390, 600, "light")
	b.click("button", "Open the question")
	b.see("#connection", "live")
	b.until("document.activeElement.id === '" + message.Data.ApprovalID + "'")
	b.until("document.querySelector('.card .good:enabled')")
	b.click(".card .options label", "postgres")
	b.shoot("question-opened", 390, 800, "light")
	b.click(".card .good", "Answer")
	b.until("document.querySelectorAll('.card').length === 0")
	b.open(message.Data.Link)
	b.see("p", "was used already")
}
