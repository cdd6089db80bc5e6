package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// provider is a row of the table of search providers.
type provider struct {
	name     string
	url      string // its own; empty means that it has to be named
	variable string // of its key, or of its URL if it has none of its own
	header   string // that carries the key
	prefix   string // before the key

	request func(ctx context.Context, base string, q Query) (*http.Request, error)
	results func(body []byte) ([]Result, error)
}

// providers has a row for each provider. Where none is named, the first whose variable is set
// counts. The forms are those of their documentation in November 2026.
var providers = []provider{
	{
		name: "searxng", variable: "SEARXNG_URL", header: "Authorization", prefix: "Bearer ",
		request: func(ctx context.Context, base string, q Query) (*http.Request, error) {
			return get(ctx, strings.TrimSuffix(base, "/")+"/search", url.Values{"q": {withSites(q)}, "format": {"json"}, "time_range": {q.Freshness}})
		},
		results: func(body []byte) ([]Result, error) {
			var a struct {
				Results []struct{ Title, URL, Content, PublishedDate string }
			}
			err := json.Unmarshal(body, &a)
			return each(a.Results, func(r struct{ Title, URL, Content, PublishedDate string }) Result {
				return Result{r.Title, r.URL, r.Content, r.PublishedDate}
			}), err
		},
	},
	{
		name: "brave", url: "https://api.search.brave.com/res/v1/web/search", variable: "BRAVE_API_KEY", header: "X-Subscription-Token",
		request: func(ctx context.Context, base string, q Query) (*http.Request, error) {
			fresh := map[string]string{"day": "pd", "week": "pw", "month": "pm", "year": "py"}[q.Freshness]
			return get(ctx, base, url.Values{"q": {withSites(q)}, "count": {strconv.Itoa(q.Count)}, "freshness": {fresh}})
		},
		results: func(body []byte) ([]Result, error) {
			type result struct {
				Title, URL, Description, Age string
				PageAge                      string `json:"page_age"`
			}
			var a struct{ Web struct{ Results []result } }
			err := json.Unmarshal(body, &a)
			return each(a.Web.Results, func(r result) Result {
				if r.PageAge == "" {
					r.PageAge = r.Age
				}
				return Result{r.Title, r.URL, r.Description, r.PageAge}
			}), err
		},
	},
	{
		name: "tavily", url: "https://api.tavily.com/search", variable: "TAVILY_API_KEY", header: "Authorization", prefix: "Bearer ",
		request: func(ctx context.Context, base string, q Query) (*http.Request, error) {
			return post(ctx, base, map[string]any{"query": q.Query, "max_results": q.Count, "include_domains": q.Domains, "time_range": q.Freshness})
		},
		results: func(body []byte) ([]Result, error) {
			type result struct {
				Title, URL, Content string
				Published           string `json:"published_date"`
			}
			var a struct{ Results []result }
			err := json.Unmarshal(body, &a)
			return each(a.Results, func(r result) Result { return Result{r.Title, r.URL, r.Content, r.Published} }), err
		},
	},
	{
		name: "exa", url: "https://api.exa.ai/search", variable: "EXA_API_KEY", header: "x-api-key",
		request: func(ctx context.Context, base string, q Query) (*http.Request, error) {
			body := map[string]any{"query": q.Query, "numResults": q.Count, "includeDomains": q.Domains, "contents": map[string]any{"text": map[string]int{"maxCharacters": 600}}}
			if q.Freshness != "" {
				body["startPublishedDate"] = since(q.Freshness, time.Now())
			}
			return post(ctx, base, body)
		},
		results: func(body []byte) ([]Result, error) {
			type result struct{ Title, URL, Text, PublishedDate string }
			var a struct{ Results []result }
			err := json.Unmarshal(body, &a)
			return each(a.Results, func(r result) Result { return Result{r.Title, r.URL, r.Text, r.PublishedDate} }), err
		},
	},
	{
		name: "litellm", variable: "LITELLM_SEARCH_URL", header: "Authorization", prefix: "Bearer ",
		request: func(ctx context.Context, base string, q Query) (*http.Request, error) {
			return post(ctx, base, map[string]any{"query": q.Query, "max_results": q.Count, "search_domain_filter": q.Domains})
		},
		results: func(body []byte) ([]Result, error) {
			type result struct{ Title, URL, Snippet, Date string }
			var a struct{ Results []result }
			err := json.Unmarshal(body, &a)
			return each(a.Results, func(r result) Result { return Result{r.Title, r.URL, r.Snippet, r.Date} }), err
		},
	},
}

// Providers returns the names of the providers of web_search, in the order in which one is chosen
// by its variable.
func Providers() []string {
	return each(providers, func(p provider) string { return p.name })
}

func find(name string) *provider {
	for i := range providers {
		if providers[i].name == name {
			return &providers[i]
		}
	}
	return nil
}

// Variable returns the variable of a provider's key. isURL says that it has the URL instead.
func Variable(name string) (variable string, isURL bool) {
	if p := find(name); p != nil {
		return p.variable, p.url == ""
	}
	return "", false
}

// ByEnvironment returns the first provider whose variable is set; the zero value means none.
func ByEnvironment(getenv func(string) string) Search {
	for _, p := range providers {
		value := getenv(p.variable)
		switch {
		case value == "":
		case p.url == "":
			return Search{Provider: p.name, URL: value, Key: getenv(keyVariable(p.name))}
		default:
			return Search{Provider: p.name, Key: value}
		}
	}
	return Search{}
}

// Named returns the provider with a name, at a URL of its own if one is given.
func Named(name, at string, getenv func(string) string) Search {
	s := Search{Provider: name, URL: at}
	if p := find(name); p != nil && p.url != "" {
		s.Key = getenv(p.variable)
	} else {
		s.Key = getenv(keyVariable(name))
		if s.URL == "" && p != nil {
			s.URL = getenv(p.variable)
		}
	}
	return s
}

// keyVariable is the variable of a key beside that of a URL.
func keyVariable(name string) string { return strings.ToUpper(name) + "_API_KEY" }

// withSites is the text of a query for a provider that takes domains only in it.
func withSites(q Query) string {
	if len(q.Domains) == 0 {
		return q.Query
	}
	return q.Query + " (site:" + strings.Join(q.Domains, " OR site:") + ")"
}

// get makes a request with parameters, without the empty ones.
func get(ctx context.Context, base string, params url.Values) (*http.Request, error) {
	for name, values := range params {
		if values[0] == "" {
			delete(params, name)
		}
	}
	sep := "?"
	if strings.Contains(base, "?") {
		sep = "&"
	}
	return http.NewRequestWithContext(ctx, http.MethodGet, base+sep+params.Encode(), nil)
}

// post makes a request with a JSON body, without its empty values.
func post(ctx context.Context, base string, body map[string]any) (*http.Request, error) {
	for name, value := range body {
		if list, ok := value.([]string); ok && len(list) == 0 || value == "" {
			delete(body, name)
		}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base, bytes.NewReader(raw))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}

// each returns what f makes of the elements of a list.
func each[A, B any](list []A, f func(A) B) []B {
	made := make([]B, 0, len(list))
	for _, a := range list {
		made = append(made, f(a))
	}
	return made
}
