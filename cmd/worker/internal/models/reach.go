package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model/anthropicmodel"
	"github.com/agentworker/worker/model/openaimodel"
)

// reachTimeout bounds the request of [Models.Reach].
const reachTimeout = 5 * time.Second

// Reach asks the provider of the default model for its list of models, which costs nothing.
// It returns the model's name and the request that was sent; that is empty if the model has
// no provider. An error says why the model can't be used. A server without such a list is
// no error.
func (m Models) Reach(ctx context.Context) (name, sent string, err error) {
	if name, err = m.choose(""); err != nil {
		return name, "", err
	}
	provider, _, _ := strings.Cut(name, "/")
	p := m.provider(provider)
	if p == nil {
		return name, "", nil
	}
	key, err := p.APIKey(m.environ, m.getenv)
	if err != nil {
		return name, "", fmt.Errorf("model %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	base := strings.TrimRight(p.Base(m.getenv), "/")
	address := cmp.Or(base, openaimodel.DefaultBaseURL) + "/models"
	if provider == "anthropic" {
		address = cmp.Or(base, anthropicmodel.DefaultBaseURL) + "/v1/models"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return name, "", fmt.Errorf("model %s: its address: %w", name, err)
	}
	sent = "GET " + req.URL.Redacted()
	switch {
	case key == "":
	case provider == "anthropic":
		req.Header.Set("X-Api-Key", key)
		req.Header.Set("Anthropic-Version", "2023-06-01")
	default:
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return name, sent, fmt.Errorf("model %s: no answer to %s within %s", name, sent, errtext.Duration(reachTimeout))
		}
		return name, sent, fmt.Errorf("model %s: %s", name, errtext.Of(err))
	}
	_ = res.Body.Close() // nothing of it is read
	switch code := res.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return name, sent, fmt.Errorf("model %s: the answer to %s is %s; the key used is %s", name, sent, res.Status, p.KeySource(m.getenv))
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed, code == http.StatusNotImplemented:
		return name, sent + ", which it does not know: the key was not checked", nil
	case code != http.StatusOK:
		return name, sent, fmt.Errorf("model %s: the answer to %s is %s", name, sent, res.Status)
	}
	return name, sent, nil
}
