package models_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/cmd/worker/internal/models"
	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/model/provider"
	"github.com/agentworker/worker/policy"
)

// TestServerWithoutKey: OPENAI_BASE_URL alone is enough, and the model is the
// first one that the server lists.
func TestServerWithoutKey(t *testing.T) {
	for answer, want := range map[string]string{
		`{"data":[{"id":"llama-small"},{"id":"other"}]}`: "openai/llama-small",
		`{"data":[]}`: "openai/" + provider.Rows[1].Default,
		`no JSON`:     "openai/" + provider.Rows[1].Default,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "" {
				http.NotFound(w, r)
				return
			}
			_, _ = fmt.Fprint(w, answer)
		}))
		defer server.Close()
		environ := []string{"OPENAI_BASE_URL=" + server.URL + "/v1", "HOME=" + t.TempDir()}
		getenv := func(name string) string {
			return map[string]string{"OPENAI_BASE_URL": server.URL + "/v1"}[name]
		}
		set := new(settings.Settings)
		set.Register(pflag.NewFlagSet("worker", pflag.ContinueOnError))
		known := models.New(set, settings.Caller{Environ: environ, Getenv: getenv, UserAgent: "agentworker/test"}, func(policy.Kind, string) error { return nil })
		m, err := known.Get("")
		if err != nil || m.Name() != want {
			t.Errorf("the server answers %s: got %v, %v, want %s", answer, m, err, want)
		}
		if m, err := known.Get("openai/mine"); err != nil || m.Name() != "openai/mine" {
			t.Errorf("a model that is named: got %v, %v", m, err)
		}
	}
}
