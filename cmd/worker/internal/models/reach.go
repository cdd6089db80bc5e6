package models

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model/provider"
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
	at, _, _ := strings.Cut(name, "/")
	p := m.provider(at)
	if p == nil {
		return name, "", nil
	}
	key, err := p.APIKey(ctx, m.by.Environ, m.getenv)
	if err != nil {
		return name, "", fmt.Errorf("model %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	client, err := p.Client(p, m.by)
	if err != nil {
		return name, "", err
	}
	address := strings.TrimRight(p.BaseURL(m.getenv), "/")
	if p.Form == provider.Messages {
		address = strings.TrimSuffix(address, "/v1") + "/v1"
	}
	address += "/models"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return name, "", fmt.Errorf("model %s: its address: %w", name, err)
	}
	sent = "GET " + req.URL.Redacted()
	if p.Form == provider.Messages {
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	switch {
	case key == "":
	case p.Header != "":
		req.Header.Set(p.Header, key)
	default:
		req.Header.Set("Authorization", "Bearer "+key)
	}
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
