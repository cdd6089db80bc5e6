package settings

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// listTimeout is how long a server may take to say which models it has.
	listTimeout = 5 * time.Second

	// maxListBytes bounds what it says.
	maxListBytes = 1 << 20
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
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/models", nil)
	if err != nil {
		return ""
	}
	res, err := client.Do(req)
	if err != nil {
		return ""
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	var list struct {
		Data []struct{ ID string }
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxListBytes))
	if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(data, &list) != nil || len(list.Data) == 0 {
		return ""
	}
	return list.Data[0].ID
}
