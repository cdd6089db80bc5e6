package mcpclient

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"

	"github.com/agentworker/worker/internal/mcpconfig"
)

// never is the transport to a host that does not answer.
type never struct{}

func (never) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestRenewalEnds: a token endpoint that does not answer is given up, though the connection goes on.
func TestRenewalEnds(t *testing.T) {
	kept := logins{t.TempDir()}
	server := &mcpconfig.Server{Name: "far", Transport: mcpconfig.HTTP, URL: "https://mcp.invalid/mcp"}
	old := &oauth2.Token{AccessToken: "a", RefreshToken: "r", Expiry: time.Unix(1, 0)}
	if err := kept.store(server, &login{oauth2.Config{Endpoint: oauth2.Endpoint{TokenURL: "https://auth.invalid/token"}}, old}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := &renewing{kept, context.WithValue(t.Context(), oauth2.HTTPClient, &http.Client{Transport: never{}}), server}
		token, err := r.Token()
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "no answer within 15s") || took > renewTime {
			t.Errorf("after %s: %v, %v", took, token, err)
		}
	})
}
