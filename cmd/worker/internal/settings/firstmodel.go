package settings

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/internal/termtext"
)

const (
	// listTimeout is how long a server may take to say which models it has.
	listTimeout = 5 * time.Second

	// maxListBytes bounds what it says.
	maxListBytes = 1 << 20

	maxListed     = 500 // models
	maxListedName = 200 // bytes
)

// FirstModel returns the first model that the server at base names, which is
// asked once; empty means it names none, or can't be asked. No key is sent.
func (p *Provider) FirstModel(base string, client *http.Client) string {
	p.mu.Lock()
	if p.listed == nil {
		p.listed = sync.OnceValue(func() string { return listModels(base, client) })
	}
	listed := p.listed
	p.mu.Unlock()
	return listed()
}

func listModels(base string, client *http.Client) string {
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	names := ListModels(ctx, base, "", client)
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// ListModels returns the names of the models that a server lists; none means that it lists none, or is no
// server of models. A name that can't be shown as it is does not count.
func ListModels(ctx context.Context, base, key string, client *http.Client) (names []string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/models", nil)
	if err != nil {
		return nil
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	var list struct {
		Data []struct{ ID string }
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxListBytes))
	if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(data, &list) != nil {
		return nil
	}
	for _, m := range list.Data[:min(len(list.Data), maxListed)] {
		if m.ID != "" && len(m.ID) <= maxListedName && termtext.OneLine(m.ID, maxListedName) == m.ID {
			names = append(names, m.ID)
		}
	}
	return names
}
