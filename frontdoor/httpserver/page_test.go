package httpserver_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// withPage is a server with a page.
func withPage(t *testing.T, m modelFunc) *env {
	t.Helper()
	return newEnv(t, m, httpserver.Options{Page: &page.Options{Workspace: "ws", RulesFile: "rules"}})
}

// loggedIn logs a client with cookies in by a link.
func (e *env) loggedIn() {
	e.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		e.t.Fatal(err)
	}
	e.client.Jar = jar
	link, _ := e.server.PageLink()
	if resp, body := e.do(e.bare("GET", link[len(e.server.URL()):])); resp.StatusCode != http.StatusOK || len(resp.Cookies()) != 1 {
		e.t.Fatalf("status %d, cookies %v: %s", resp.StatusCode, resp.Cookies(), body)
	}
}

// bare returns a request without the token, as a browser sends it.
func (e *env) bare(method, path string) *http.Request {
	e.t.Helper()
	r := e.request(method, path, "")
	r.Header.Del("Authorization")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

func TestPageLogin(t *testing.T) {
	e := withPage(t, answer("x"))
	e.loggedIn()

	resp, body := e.do(e.bare("GET", "/"))
	policy := resp.Header.Get("Content-Security-Policy")
	if resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("/assets/main.js")) {
		t.Errorf("the page: %d %s", resp.StatusCode, body)
	}
	for _, part := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "base-uri 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("policy %q lacks %s", policy, part)
		}
	}
	if resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("headers %v", resp.Header)
	}
	if resp, _ := e.do(e.bare("GET", "/v1/sessions")); resp.StatusCode != http.StatusOK {
		t.Errorf("the API with a cookie: %d", resp.StatusCode)
	}

	// The link that was used, others, and addresses that want the token.
	link, _ := e.server.PageLink()
	path := link[len(e.server.URL()):]
	for range 2 {
		resp, _ = e.do(e.bare("GET", path))
	}
	if resp.StatusCode != http.StatusUnauthorized || len(resp.Cookies()) > 0 {
		t.Errorf("a link that was used: %d, %v", resp.StatusCode, resp.Cookies())
	}
	for _, r := range []*http.Request{
		e.bare("GET", "/login"), e.bare("GET", "/login?link="), e.bare("GET", path[:len(path)-1]), e.bare("POST", "/v1/page/links"), e.bare("GET", "/mcp"),
	} {
		if resp, _ := e.do(r); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s %s: %d, want 401", r.Method, r.URL, resp.StatusCode)
		}
	}
}

// TestPageCookie: what a cookie may not do, and which cookies are none.
func TestPageCookie(t *testing.T) {
	e := withPage(t, answer("x"))
	e.loggedIn()
	for _, tt := range []struct {
		header, value string
		want          int
	}{
		{"Sec-Fetch-Site", "same-origin", http.StatusOK},
		{"Origin", e.server.URL(), http.StatusOK},
		{"Sec-Fetch-Site", "same-site", http.StatusForbidden},
		{"Sec-Fetch-Site", "cross-site", http.StatusForbidden},
		{"Origin", "http://evil.example", http.StatusForbidden},
		{"X-Nothing", "said", http.StatusUnauthorized}, // of where it comes from
	} {
		r := e.request("POST", "/v1/tasks/list", "{}")
		r.Header.Del("Authorization")
		r.Header.Set(tt.header, tt.value)
		if resp, body := e.do(r); resp.StatusCode != tt.want {
			t.Errorf("%s %s: %d, want %d: %s", tt.header, tt.value, resp.StatusCode, tt.want, body)
		}
	}
	r := e.bare("GET", "/")
	r.Host = "evil.example"
	if resp, _ := e.do(r); resp.StatusCode != http.StatusForbidden {
		t.Errorf("another host: %d", resp.StatusCode)
	}

	cookies := e.client.Jar.Cookies(r.URL)
	e.client.Jar = nil
	value := cookies[0].Value
	parts := strings.Split(value, ".")
	for _, bad := range []string{"", "x", value + "x", "9" + value, parts[0] + "." + parts[1] + ".", strings.Join([]string{"99999999999", parts[1], parts[2]}, ".")} {
		r := e.bare("GET", "/v1/sessions")
		r.AddCookie(&http.Cookie{Name: cookies[0].Name, Value: bad})
		if resp, _ := e.do(r); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("the cookie %q: %d", bad, resp.StatusCode)
		}
	}
	r = e.bare("GET", "/")
	r.Header.Set("Accept", "text/html")
	if resp, body := e.do(r); resp.StatusCode != http.StatusUnauthorized || !bytes.Contains(body, []byte("worker page")) {
		t.Errorf("without a cookie: %d %s", resp.StatusCode, body)
	}
	if resp, _ := e.do(e.bare("GET", "/assets/page.css")); resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/css") {
		t.Errorf("a style: %d %v", resp.StatusCode, resp.Header)
	}
}

// TestPageEvents: a browser gets all there is, then the changes. When it comes back, it
// gets the ones it missed.
func TestPageEvents(t *testing.T) {
	g := newGate()
	e := withPage(t, g.model)
	e.loggedIn()
	task := e.request("POST", "/v1/tasks", background)
	if resp, body := e.do(task); resp.StatusCode != http.StatusAccepted {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	<-g.started
	first, second := e.open(e.bare("GET", "/page/events")), e.open(e.bare("GET", "/page/events"))
	rows, others := make(map[string]page.Row), make(map[string]page.Row)
	running := func(rows map[string]page.Row) func() bool {
		return func() bool { return slices.Contains(agents(rows, record.Running), "explore") }
	}
	second.rowsUntil(others, running(others))
	last := first.rowsUntil(rows, running(rows))
	first.resp.Body.Close()
	close(g.open)
	ended := func(rows map[string]page.Row) func() bool {
		return func() bool { return slices.Equal(agents(rows, record.Completed), []string{"", "explore"}) }
	}
	second.rowsUntil(others, ended(others))

	back := e.bare("GET", "/page/events")
	back.Header.Set("Last-Event-ID", last)
	again := e.open(back)
	again.rowsUntil(rows, ended(rows))
	if again.resets > 0 {
		t.Errorf("%d resets for one who came back", again.resets)
	}
	for _, row := range rows {
		if row.Agent == "explore" && (row.Steps != 1 || row.ParentID == "" || row.Root != row.ParentID || row.EndedAt == 0) {
			t.Errorf("row %+v", row)
		}
	}
	back.Header.Set("Last-Event-ID", "1-1")
	fresh := make(map[string]page.Row)
	all := e.open(back)
	all.rowsUntil(fresh, ended(fresh))
	if all.resets != 1 {
		t.Errorf("%d resets for one who was elsewhere, want 1", all.resets)
	}
}

// rowsUntil adds the rows of updates until a condition holds, and returns the last id.
func (s *stream) rowsUntil(rows map[string]page.Row, holds func() bool) (last string) {
	s.t.Helper()
	for !holds() {
		ev, ok := s.next()
		if !ok {
			s.t.Fatal("the stream has ended")
		}
		last = ev.ID
		u := decode[page.Update](s.t, []byte(ev.Data))
		if u.Reset {
			s.resets++
			clear(rows)
		}
		for _, row := range u.Rows {
			rows[row.ID] = *row
		}
	}
	return last
}

func agents(rows map[string]page.Row, status record.Status) []string {
	var names []string
	for _, row := range rows {
		if row.Status == status {
			names = append(names, row.Agent)
		}
	}
	slices.Sort(names)
	return names
}

// awaitCard returns the first approval that the page shows.
func (e *env) awaitCard(t *testing.T) page.Card {
	t.Helper()
	updates := e.open(e.bare("GET", "/page/events"))
	for {
		ev, ok := updates.next()
		if !ok {
			t.Fatal("the stream has ended")
		}
		if u := decode[page.Update](t, []byte(ev.Data)); u.Approvals != nil && len(*u.Approvals) > 0 {
			return (*u.Approvals)[0]
		}
	}
}

// TestPageSession: a call is approved through the page, and the session is shown, drawn and
// exported.
func TestPageSession(t *testing.T) {
	e := withPage(t, func(ctx context.Context, req *model.Request, yield func(model.Part) bool) error {
		if len(req.Messages) > 1 {
			return answer("[x](javascript:y) done")(ctx, req, yield)
		}
		_ = yield(model.ToolCall{ID: "c1", Name: "touch", Arguments: `{"a":"b\u202e"}`}) && yield(model.Stop{Reason: model.StopToolCalls})
		return nil
	})
	e.loggedIn()
	resp, body := e.do(e.request("POST", "/v1/tasks", strings.Replace(background, "explore", "general", 1)))
	if resp.StatusCode != http.StatusAccepted {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	id := decode[taskt.Document](t, body).SessionID

	card := e.awaitCard(t)
	if card.Tool != "touch" || card.SessionID != id || card.LeftOut != "" || card.Parts[0].Text[1].Text != `\u{202e}` {
		t.Errorf("card %+v", card)
	}
	for _, tt := range []struct {
		body string
		want int
	}{
		{`{"approvalId":"` + card.ID + `","answer":"perhaps"}`, http.StatusBadRequest},
		{`{"approvalId":"app_none","answer":"once"}`, http.StatusNotFound},
		{`{"approvalId":"` + card.ID + `","answer":"once"}`, http.StatusOK},
		{`{"approvalId":"` + card.ID + `","answer":"deny"}`, http.StatusConflict},
	} {
		r := e.request("POST", "/page/approvals", tt.body)
		r.Header.Del("Authorization")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		if resp, body := e.do(r); resp.StatusCode != tt.want {
			t.Errorf("%s: %d, want %d: %s", tt.body, resp.StatusCode, tt.want, body)
		}
	}
	e.await(id)

	_, body = e.do(e.bare("GET", "/page/sessions/"+id))
	shown := decode[page.Transcript](t, body)
	kinds := ""
	for _, b := range shown.Blocks {
		kinds += b.Kind + " "
	}
	if kinds != "user tool assistant " || shown.Blocks[1].Open || shown.Blocks[2].HTML != "<p>x done</p>\n" || shown.Final == nil || shown.Final.Work.ToolCalls != 1 {
		t.Errorf("%s: %s", kinds, body)
	}
	for _, tt := range []struct {
		after string
		want  []page.Block
	}{
		{shown.Blocks[0].Key, shown.Blocks[1:]}, {shown.Blocks[1].Key, shown.Blocks[2:]}, {shown.Blocks[2].Key, nil}, {"msg_none", shown.Blocks},
	} {
		_, body = e.do(e.bare("GET", "/page/sessions/"+id+"?after="+tt.after))
		rest := decode[page.Transcript](t, body)
		if !slices.EqualFunc(rest.Blocks, tt.want, func(a, b page.Block) bool { return a.Key == b.Key && a.HTML == b.HTML }) || (rest.After != "") != (len(tt.want) < 3) {
			t.Errorf("after %s: %s", tt.after, body)
		}
	}
	for path, want := range map[string]string{
		"/page/sessions/" + id + "/timeline":          `"state":"waiting_approval"`,
		"/v1/sessions/" + id + "/export?format=md":    "# Session",
		"/v1/sessions/" + id + "/export?format=jsonl": `{"type":"session_end","status":"completed","stopReason":"answered","seq":`,
	} {
		if resp, body := e.do(e.bare("GET", path)); resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(want)) {
			t.Errorf("%s: %d, without %s: %s", path, resp.StatusCode, want, body)
		}
	}
	for _, path := range []string{"/page/sessions/ses_none", "/page/sessions/" + id[:8], "/assets/index.html", "/assets/none"} {
		if resp, _ := e.do(e.bare("GET", path)); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, resp.StatusCode)
		}
	}
}
