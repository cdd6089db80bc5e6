//go:build browser

package main

import (
	"strings"
	"testing"
)

// evil is an answer whose author wants more than to answer.
const evil = `{"match": {"user": "evil"}, "text": "# Report\n\n<script>globalThis.hit = 1</script>\n<img src=x onerror=\"globalThis.hit = 2\">\n\n` +
	`[click](javascript:globalThis.hit=3) [fine](https://example.com/) ![beacon](BEACON/pixel.png)\n\n\u001b[31mred\u001b[0m \u202eabc\n\n<style>body{display:none}</style><base href=BEACON>"}`

const editScript = `
{"match": {"user": "fix"}, "text": "I fix the greeting.", "toolCalls": [{"name": "read_file", "arguments": {"path": "greet.go"}}, {"name": "read_file", "arguments": {"path": "missing.go"}}], "usage": {"inputTokens": 18250, "outputTokens": 412, "cacheReadTokens": 15100}}
{"match": {"user": "fix"}, "toolCalls": [{"name": "edit_file", "arguments": {"path": "greet.go", "oldText": "func Greet(name string) string {\n\treturn \"Hallo \" + name\n}", "newText": "// Greet says hello.\nfunc Greet(name string) string {\n\treturn \"Hello, \" + name\n}"}}], "usage": {"inputTokens": 19400, "outputTokens": 230, "cacheReadTokens": 18100}}
{"match": {"user": "fix"}, "text": "## SUMMARY\nThe greeting is in English, and **documented**.\n\n## CHANGES\n- greet.go: the word, a comment\n- greet_test.go: a case\n\n## EVIDENCE\n- greet.go:4\n\n## RISKS\nNone.", "usage": {"inputTokens": 20100, "outputTokens": 190, "cacheReadTokens": 19300}}
{"match": {"user": "survey"}, "text": "I look at the parts.", "toolCalls": [{"name": "list_dir", "arguments": {"path": "."}}], "usage": {"inputTokens": 9200, "outputTokens": 120}}
{"match": {"user": "survey"}, "text": ["The module has one package, and I am still reading its tests"], "hang": true}
`

var greetFiles = map[string]string{
	"greet.go": "package greet\n\n\nfunc Greet(name string) string {\n\treturn \"Hallo \" + name\n}\n",
	".agents/agents/fixer.md": "---\ndescription: Fixes small things, with evidence.\nmaxSteps: 12\npermission:\n  \"*\": deny\n  read_file: allow\n  edit_file: { \"*.go\": allow }\n---\n" +
		"You fix what you are told.\n",
}

// TestPageTranscript: an answer with scripts, odd links, images and control characters is
// inert; edits are shown as differences; what is claimed stands beside what was done.
func TestPageTranscript(t *testing.T) {
	beacon := newBeacon(t)
	w := startPageWorker(t, strings.ReplaceAll(evil, "BEACON", beacon.URL)+editScript+pageScript, greetFiles)
	b := openBrowser(t)
	b.open(w.link())
	b.see("#connection", "live")

	id := w.task("general", "evil")
	b.open("http://" + w.addr + "/sessions/" + id)
	b.see(".markdown h1", "Report")
	b.see(".markdown", "[image: beacon]")
	if links := js[string](b, `[...document.querySelectorAll('.markdown a')].map((a) => a.href).join(' ')`); strings.Trim(strings.ReplaceAll(links, "https://example.com/", ""), " ") != "" {
		t.Errorf("links to %s", links)
	}
	if got := js[string](b, `JSON.stringify([globalThis.hit ?? 0, document.querySelectorAll('.markdown script, .markdown img, .markdown style, base').length, /[\u001b\u202e]/.test(document.body.textContent)])`); got != "[0,0,false]" {
		t.Errorf("what an answer has done: %s", got)
	}
	if blocked := js[string](b, `(() => { try { document.createElement('div').innerHTML = '<b>x</b>'; return 'no'; } catch { return 'yes'; } })()`); blocked != "yes" {
		t.Error("HTML can be set without the page's policy")
	}
	if n := beacon.hits.Load(); n > 0 {
		t.Errorf("%d requests went to another server", n)
	}

	id = w.task("fixer", "fix the greeting")
	b.open("http://" + w.addr + "/sessions/" + id)
	b.see(".final", "greet.go")
	b.see(".final .bad", "greet_test.go")
	b.see(".diff .add", `return "Hello, " + name`)
	b.see(".diff .del", `return "Hallo " + name`)
	b.shoot("page-session", 1280, 900, "light")
	b.press("e")
	b.until("document.querySelector('.call.error[open] .result').textContent.includes('missing.go')")
	b.click("[role=tab]", "Timeline")
	b.until("document.querySelectorAll('.lane svg path').length > 1")
	b.click(".choice label", "cost")
	b.see(".legend", "up to $")
	b.until("document.querySelector('.lane svg path.cost-5')")
	for format, want := range map[string]string{"md": "# Session", "jsonl": `"type":"session_end"`} {
		if text := js[string](b, `fetch('/v1/sessions/`+id+`/export?format=`+format+`').then((r) => r.text())`); !strings.Contains(text, want) {
			t.Errorf("the export as %s lacks %s:\n%s", format, want, text)
		}
	}

	w.task("explore", "survey the module")
	w.task("general", "tidy up")
	w.task("general", "stay")
	b.open("http://" + w.addr + "/")
	b.see(".row .state", "asks")
	b.see(".row .state", "thinks")
	b.until("document.querySelector('.card [data-answer=once]:enabled')")
	b.shoot("page", 1280, 900, "light")
	b.shoot("page-dark", 1280, 900, "dark")
	b.shoot("page-phone", 400, 800, "light")
}

// TestPageAgents: the list of agents changes as files are saved; a task is started from
// the page, and a call that somebody types is explained.
func TestPageAgents(t *testing.T) {
	w := startPageWorker(t, pageScript, greetFiles)
	b := openBrowser(t)
	b.open(w.link())
	b.see("#connection", "live")
	b.click("nav a", "Agents")
	b.see(".agent .name", "fixer")

	w.write(".agents/agents/scout.md", "---\ndescription: Looks around.\n---\nLook.\n")
	b.see(".agent .name", "scout")
	w.write(".agents/agents/zed.md", "---\ndescription: Uses what is not here.\ntools: Nonesuch\n---\nGo.\n")
	w.write(".agents/agents/fixer.md", "---\ndescription: Fixes anything.\nmaxSteps: many\n---\nFix.\n")
	b.see(".finding", "maxSteps")
	b.see(".finding .place", ".agents/agents/fixer.md:3")
	b.until("document.querySelector('form.start').getBoundingClientRect().top < document.querySelector('.finding').getBoundingClientRect().top")
	b.see(".finding .place", ".agents/agents/zed.md:3")
	b.until("document.querySelector('.finding').classList.contains('error')")

	b.fill("[name=arg]", "rm -rf / && cat .env")
	b.click("button", "Explain")
	b.see(".answer b", "deny")
	b.see(".answer", "permissions.jsonc")
	b.click(".agent summary", "fixer")
	b.shoot("page-agents", 1280, 900, "light")

	b.fill("form.start select[name=agent]", "general")
	b.fill("[name=prompt]", "stay with it")
	b.click("button.good", "Start")
	b.see(".session .pill", "thinks")
	b.see(".block.assistant", "Still at it")
	b.fill(".sending textarea", "go on")
	b.click(".sending button", "Send")
	b.see("[role=status]", "before its next step")
}
