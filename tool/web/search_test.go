package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/web"
)

// wire has the form of each provider: what is asked, and an answer.
var wire = map[string]struct{ method, key, request, answer string }{
	"searxng": {"GET", "Authorization: Bearer k", "/search?format=json&q=go+fuzzing+%28site%3Ago.dev+OR+site%3Apkg.go.dev%29&time_range=week",
		`{"query": "x", "results": [{"title": "T", "url": "https://go.dev/x", "content": "C", "engines": ["a"], "publishedDate": "2026-11-01"}]}`},
	"brave": {"GET", "X-Subscription-Token: k", "/?count=2&freshness=pw&q=go+fuzzing+%28site%3Ago.dev+OR+site%3Apkg.go.dev%29",
		`{"web": {"results": [{"title": "T", "url": "https://go.dev/x", "description": "C", "page_age": "2026-11-01"}]}}`},
	"tavily": {"POST", "Authorization: Bearer k", `{"include_domains":["go.dev","pkg.go.dev"],"max_results":2,"query":"go fuzzing","time_range":"week"}`,
		`{"results": [{"title": "T", "url": "https://go.dev/x", "content": "C", "score": 0.9, "published_date": "2026-11-01"}]}`},
	"exa": {"POST", "X-Api-Key: k", `{"contents":{"text":{"maxCharacters":600}},"includeDomains":["go.dev","pkg.go.dev"],"numResults":2,"query":"go fuzzing","startPublishedDate":"DAY"}`,
		`{"results": [{"title": "T", "url": "https://go.dev/x", "text": "C", "publishedDate": "2026-11-01"}], "costDollars": {"total": 0.005}}`},
	"litellm": {"POST", "Authorization: Bearer k", `{"max_results":2,"query":"go fuzzing","search_domain_filter":["go.dev","pkg.go.dev"]}`,
		`{"object": "search", "results": [{"title": "T", "url": "https://go.dev/x", "snippet": "C", "date": "2026-11-01"}]}`},
}

func TestSearch(t *testing.T) {
	for _, name := range web.Providers() {
		w, ok := wire[name]
		if !ok {
			t.Errorf("%s has no wire form here", name)
			continue
		}
		var got, key string
		s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			got = r.URL.String()
			if r.Method == http.MethodPost {
				body, _ := io.ReadAll(r.Body)
				got = string(body)
			}
			for header := range r.Header {
				if strings.Contains(w.key, header+": ") {
					key = header + ": " + r.Header.Get(header)
				}
			}
			fmt.Fprint(rw, w.answer)
		}))
		tools := web.Tools(web.Options{Search: web.Search{Provider: name, URL: s.URL, Key: "k"}})
		raw := json.RawMessage(`{"query": "go fuzzing", "count": 2, "domains": ["go.dev", "pkg.go.dev"], "freshness": "week"}`)
		r, err := tools[1].Run(t.Context(), &tool.Call{Args: raw})
		s.Close()
		want := strings.Replace(w.request, "DAY", time.Now().AddDate(0, 0, -7).Format(time.DateOnly), 1)
		if err != nil || got != want || key != w.key {
			t.Errorf("%s: %v\ngot  %s %s\nwant %s %s", name, err, key, got, w.key, want)
		}
		if !strings.Contains(r.Text, "1. T\n   https://go.dev/x\n   2026-11-01\n   C\n") {
			t.Errorf("%s: %q", name, r.Text)
		}
	}
}

func TestSearchFails(t *testing.T) {
	for answer, want := range map[string]string{"": "can't be read", "[]": "can't be read", `{"results": 7}`: "can't be read", "status": "HTTP status 429"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if answer == "status" {
				http.Error(w, "slow down", http.StatusTooManyRequests)
				return
			}
			fmt.Fprint(w, answer)
		}))
		_, err := web.Search{Provider: "tavily", URL: s.URL}.Ask(t.Context(), web.Query{Query: "x", Count: 1}, "test")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", answer, err)
		}
		s.Close()
	}
	search := web.Tools(web.Options{Search: web.Search{Provider: "brave"}})[1]
	for _, args := range []string{`{}`, `{"query": " "}`, `{"query": "x", "count": 50}`, `{"query": "x", "freshness": "never"}`, `{"query": "x", "domains": ["a b"]}`, `{"query": "x", "more": 1}`} {
		if _, err := search.Values(json.RawMessage(args)); err == nil {
			t.Errorf("%s are arguments", args)
		}
	}
	if len(web.Tools(web.Options{})) != 1 {
		t.Error("web_search is there without a provider")
	}
}

func TestByEnvironment(t *testing.T) {
	for env, want := range map[string]web.Search{
		"":                            {},
		"BRAVE_API_KEY=k":             {Provider: "brave", Key: "k"},
		"SEARXNG_URL=http://x":        {Provider: "searxng", URL: "http://x"},
		"EXA_API_KEY=k":               {Provider: "exa", Key: "k"},
		"LITELLM_SEARCH_URL=http://x": {Provider: "litellm", URL: "http://x"},
	} {
		name, value, _ := strings.Cut(env, "=")
		got := web.ByEnvironment(func(n string) string {
			if n == name {
				return value
			}
			return ""
		})
		if got != want {
			t.Errorf("%s: %+v, want %+v", env, got, want)
		}
	}
}
