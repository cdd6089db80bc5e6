package models

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/model/provider"
)

// Server is a server of the user's own that answers, with its models.
type Server struct {
	Provider string
	Address  string
	Models   []string // PROVIDER/NAME, in the server's order; at least one
}

// Local returns the servers of one's own that answer within a time, each with the models that it lists. They
// are asked at their usual ports, or where the settings say. A server that a policy forbids is not asked.
func (m Models) Local(ctx context.Context, within time.Duration) []Server {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var asked []*settings.Provider
	for _, row := range provider.Rows {
		if p := m.provider(row.Name); row.Local() && p != nil && m.allowedAt(p) == nil {
			asked = append(asked, p)
		}
	}
	found := make([]Server, len(asked))
	var asking sync.WaitGroup
	for i, p := range asked {
		asking.Go(func() { found[i] = m.listed(ctx, p) })
	}
	asking.Wait()
	return slices.DeleteFunc(found, func(s Server) bool { return len(s.Models) == 0 })
}

// listed returns a server with the models that it lists.
func (m Models) listed(ctx context.Context, p *settings.Provider) Server {
	s := Server{Provider: p.Name, Address: p.BaseURL(m.getenv)}
	client, err := p.Client(p, m.by)
	if err != nil {
		return s
	}
	key, err := p.APIKey(ctx, m.by.Environ, m.getenv)
	if err != nil {
		return s
	}
	for _, name := range settings.ListModels(ctx, s.Address, key, client) {
		if name = p.Name + "/" + name; m.allowed(name) == nil {
			s.Models = append(s.Models, name)
		}
	}
	return s
}

// Named returns the models that the settings of providers name, as PROVIDER/NAME.
func (m Models) Named(set *settings.Settings) (all []string) {
	for _, p := range set.Providers {
		for _, name := range p.Models() {
			all = append(all, p.Name+"/"+name)
		}
	}
	return all
}

// Offline reports whether nothing is set by which a model could be chosen, and so the offline model answers.
func (m Models) Offline() bool { return len(m.named) == 0 && m.byKey() == "offline" }

// Hint says how to use the servers of one's own that answer; empty means that none does.
func Hint(servers []Server) string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Provider+" answers at "+s.Address+": --model "+s.Models[0])
	}
	return strings.Join(all, "; ")
}
