package notify_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/frontdoor/notify"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// received is a request that a server has got.
type received struct {
	header http.Header
	body   string
}

// data is "data" of a webhook.
func (r received) data(t *testing.T) (m notify.Message) {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err == nil {
		err = hook.Verify([]byte(r.body), r.header)
	}
	var body struct {
		Type string
		Data *notify.Message
	}
	body.Data = &m
	if err := errors.Join(err, json.Unmarshal([]byte(r.body), &body)); err != nil || body.Type != "agentworker."+m.Kind {
		t.Errorf("%v: %s", err, r.body)
	}
	return m
}

// TestEnds: the end of a task is sent once, in a signed webhook. The end of its caller is not.
func TestEnds(t *testing.T) {
	web := newServer(t)
	e := newEnv(t, modeltest.Say("done"))
	n := e.start(`[{"on":["ended"],"http":"` + web.URL + `/hook","secret":"${SECRET}","headers":{"Authorization":"Bearer ${TOKEN}"}}]`)
	e.task(nil)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	got := <-web.got
	m := got.data(t)
	if m.Kind != "ended" || m.Title != "general is completed" || m.Text != "Mend the cart" || m.Workspace != "shop" || m.Status != "completed" || !slices.Equal(m.Agents, []string{"general"}) {
		t.Errorf("the message is %+v", m)
	}
	if got.header.Get("Authorization") != "Bearer abc" || got.header.Get("webhook-id") != m.ID {
		t.Errorf("headers %v", got.header)
	}
	if len(web.got) > 0 {
		t.Errorf("and there is another: %s", (<-web.got).body)
	}
}

// TestQuestion: the message of an open question has the call and a link for a person.
func TestQuestion(t *testing.T) {
	web := newServer(t)
	e := newEnv(t, doortest.Calling("touch", `{"note":"\u202eevil ghp_abcdefghijklmnopqrstuvwxyz0123456789"}`))
	n := e.start(`[{"on":["question"],"http":"` + web.URL + `","secret":"${SECRET}","person":"anna","page":"https://worker.example:7434/a/"},
		{"on":["question","failed"],"http":"` + web.URL + `","secret":"${SECRET}","person":"nobody"}]`)
	told := make(chan []notify.Message)
	go func() {
		var all []notify.Message
		for range 2 {
			all = append(all, (<-web.got).data(t))
		}
		told <- all
	}()
	run := make(chan struct{})
	verdict := approval.ApproveOnce
	go func() {
		defer close(run)
		all := <-told
		for _, m := range all {
			if m.Kind != "question" || m.ApprovalID == "" || !strings.Contains(m.Title, "general asks to touch it") ||
				!strings.Contains(m.Text, `\u{202e}evil`) || strings.Contains(m.Text, "ghp_abc") || m.ExpiresAt.IsZero() {
				t.Errorf("the message is %+v", m)
			}
		}
		links := []string{all[0].Link, all[1].Link}
		slices.Sort(links)
		if want := "https://worker.example:7434/a/login?link=anna." + all[0].ApprovalID; links[0] != "" || links[1] != want {
			t.Errorf("links %q, want none and %s", links, want)
		}
		if _, err := e.Sessions.Store().Approvals.Answer(t.Context(), all[0].ApprovalID, approval.Answer{Verdict: verdict}); err != nil {
			t.Error(err)
		}
	}()
	e.task(nil)
	<-run
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if len(web.got) > 0 {
		t.Errorf("and there is another: %s", (<-web.got).body)
	}
}

// TestRetries: a message is sent until it is taken or refused, one after the other. What is left is
// sent by the next process, and the answered question no more.
func TestRetries(t *testing.T) {
	web := newServer(t, 503, 204, 410, 204)
	e := newEnv(t, doortest.Asking)
	targets := `[{"on":["ended","question"],"http":"` + web.URL + `","secret":"${SECRET}"}]`
	n := e.start(targets)
	if err := n.Close(); err != nil { // now the place is noted
		t.Fatal(err)
	}
	deny := approval.DenyCall
	for range 3 {
		e.task(&deny)
	}
	n = e.start(targets)
	var ids []string
	for range 4 {
		m := (<-web.got).data(t)
		if m.Kind != "ended" {
			t.Errorf("the message is %+v", m)
		}
		ids = append(ids, m.ID)
	}
	if ids[0] != ids[1] || ids[1] == ids[2] || ids[2] == ids[3] {
		t.Errorf("ids %q, want the first twice", ids)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = e.start(targets)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if len(web.got) > 0 {
		t.Errorf("and there is another: %s", (<-web.got).body)
	}
}

// TestOne: of two processes one sends, and the other once the first has ended.
func TestOne(t *testing.T) {
	defer notify.SetLockEvery(1)()
	web := newServer(t)
	e := newEnv(t, modeltest.Say("done"))
	targets := `[{"on":["ended"],"http":"` + web.URL + `","secret":"${SECRET}"}]`
	first, second := e.start(targets), e.start(targets)
	e.task(nil)
	one := (<-web.got).data(t)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	e.task(nil)
	other := (<-web.got).data(t)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if one.SessionID == other.SessionID || len(web.got) > 0 {
		t.Errorf("%+v, then %+v, and %d more", one, other, len(web.got))
	}
}

// TestKilled: the place of a new target is noted at once, so that a kill loses no message.
func TestKilled(t *testing.T) {
	web := newServer(t)
	e := newEnv(t, modeltest.Say("done"))
	targets := `[{"on":["ended"],"http":"` + web.URL + `","secret":"${SECRET}"}]`
	n := e.start(targets)
	file := filepath.Join(e.dir, "notify.json")
	var before []byte
	for err := error(os.ErrNotExist); err != nil; before, err = os.ReadFile(file) {
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	e.task(nil)
	if err := os.WriteFile(file, before, 0o600); err != nil { // as the kill has left it
		t.Fatal(err)
	}
	n = e.start(targets)
	m := (<-web.got).data(t)
	if err := n.Close(); err != nil || m.Title != "general is completed" {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestLogged: the log says what was not sent, and nothing of the address, which may have a key.
func TestLogged(t *testing.T) {
	web := newServer(t)
	url := web.URL
	web.Close()
	e := newEnv(t, modeltest.Say("done"))
	var out lines
	e.logger = slog.New(slog.NewTextHandler(&out, nil))
	n := e.start(`[{"on":["ended"],"http":"` + url + `/KEY"}]`)
	e.task(nil)
	for !strings.Contains(out.String(), "a message was not sent") && t.Context().Err() == nil {
		runtime.Gosched()
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, "KEY") || !strings.Contains(text, "connection refused") {
		t.Errorf("the log says %s", text)
	}
}

// TestForms: what each form sends, with nothing in it that its server would take for markup.
func TestForms(t *testing.T) {
	web := newServer(t)
	e := newEnv(t, modeltest.Say("done"))
	root, err := e.Tasks.OpenCaller(t.Context(), "test", record.Owner)
	if err != nil {
		t.Fatal(err)
	}
	for form, want := range map[string][]string{
		"webhook": {`"title":"general is completed"`, `"text":"\u003c!channel\u003e *äöü*"`},
		"slack":   {`{"text":"*general is completed*\n` + "```" + `\n\u0026lt;!channel\u0026gt; *äöü*\n` + "```" + `\nshop · worker sessions show `},
		"teams":   {`"contentType":"application/vnd.microsoft.card.adaptive"`, `"text":"general is completed","type":"TextRun"`, `\u003c!channel\u003e *äöü*`},
		"ntfy":    {"<!channel> *äöü*\nshop · worker sessions show ses_"},
	} {
		n := e.start(`[{"on":["ended"],"http":"` + web.URL + `","form":"` + form + `"}]`)
		run := e.Tasks.Start(t.Context(), root, taskt.Input{Description: "<!channel> *äöü*", Prompt: "p", AgentType: "general"})
		<-run.Done()
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		got := <-web.got
		for _, part := range want {
			if !strings.Contains(got.body, part) {
				t.Errorf("%s has sent %s, want %s in it", form, got.body, part)
			}
		}
		if title := got.header.Get("Title"); (form == "ntfy") != (title == "general is completed") {
			t.Errorf("%s has the title %q", form, title)
		}
	}
	if err := root.End(record.Completed, nil); err != nil {
		t.Error(err)
	}
}

// TestPrograms: a command reads the body of a webhook, without variables that hold secrets; the
// desktop's program gets title and text as arguments.
func TestPrograms(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("notify-send is Linux's")
	}
	bin := t.TempDir()
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$OUT\"\n"
	if err := os.WriteFile(filepath.Join(bin, "notify-send"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	out := filepath.Join(t.TempDir(), "desktop")
	t.Setenv("OUT", out)
	e := newEnv(t, modeltest.Say("done"))
	n := e.start(`[{"on":["ended"],"command":"cat > body; echo failed >&2"},{"on":["ended"],"desktop":true}]`)
	e.task(nil)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(e.dir, "body"))
	if err != nil || !strings.Contains(string(body), `"title":"general is completed"`) {
		t.Errorf("the command has read %q, %v", body, err)
	}
	shown, err := os.ReadFile(out)
	if want := regexp.MustCompile(`^--app-name=agentworker\n--\ngeneral is completed\nMend the cart\nshop · worker sessions show ses_\w+\n$`); err != nil || !want.Match(shown) {
		t.Errorf("the desktop shows %q, %v", shown, err)
	}
}

// TestParse: what is wrong with a setting is said, and no value of it that may be a secret.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                              "write an array of objects",
		`[{"on":["ended"]}]`:              "target 1: one of http, command and desktop is needed",
		`[{"desktop":true}]`:              "target 1: on is missing: some of question, stalled, budget, ended, failed",
		`[{"on":["end"],"desktop":true}]`: `on: there is no "end"`,
		`[{"on":["ended"],"desktop":true,"command":"x"}]`:                                       "one of http, command and desktop is needed",
		`[{"on":["ended"],"desktop":true,"form":"slack"}]`:                                      "form, headers and secret go with http",
		`[{"on":["ended"],"http":"https://x/","form":"irc"}]`:                                   `there is no form "irc": one of ntfy, slack, teams, webhook`,
		`[{"on":["ended"],"http":"https://x/","form":"slack","secret":"s"}]`:                    "only the form webhook is signed",
		`[{"on":["ended"],"http":"http://hooks.example/SECRET"}]`:                               "http is no https URL",
		`[{"on":["ended"],"http":"https://u:SECRET@hooks.example/"}]`:                           "or has a password in it",
		`[{"on":["ended"],"http":"https://x/","headers":{"a b":"SECRET"}}]`:                     `"a b" can't be a header`,
		`[{"on":["ended"],"desktop":true,"page":"https://x"}]`:                                  "page goes with person",
		`[{"on":["ended"],"desktop":true,"person":"anna","page":"http://worker.example:7433"}]`: "page: the URL",
		`[{"on":["ended"],"desktop":true},{"on":["ended"],"Desktop":true}]`:                     "target 2: ",
	} {
		if _, err := notify.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzParse: a setting is read or refused.
func FuzzParse(f *testing.F) {
	f.Add(`[{"on":["question"],"http":"https://hooks.example/x","secret":"whsec_x","person":"anna"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		targets, err := notify.Parse([]byte(text))
		for i := range targets {
			if s := targets[i].String(); s == "" || err == nil && len(targets[i].On) == 0 {
				t.Errorf("%q has a target %q", text, s)
			}
		}
	})
}
