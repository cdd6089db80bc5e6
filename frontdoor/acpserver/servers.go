package acpserver

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/internal/httpheader"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/internal/termtext"
)

// maxServers bounds the MCP servers of a session.
const maxServers = 50

// servers returns the MCP servers that a client brings for a session: they are its user's own.
func (c *connection) servers(named []acp.McpServer) (servers []*mcpconfig.Server, err error) {
	if c.opts.IgnoreMCP {
		return nil, nil
	}
	if len(named) > maxServers {
		return nil, invalid(fmt.Errorf("mcpServers: there are %d, and a session may have %d", len(named), maxServers))
	}
	for _, n := range named {
		s, err := serverOf(n)
		if err != nil {
			return nil, invalid(fmt.Errorf("mcpServers: %w", err))
		}
		s.Literal, s.File, s.Reaches = true, "the editor", c.opts.ServerHosts[s.Name]
		servers = append(servers, s)
	}
	return servers, nil
}

// serverOf returns a server of the protocol in our form.
func serverOf(n acp.McpServer) (*mcpconfig.Server, error) {
	s := &mcpconfig.Server{}
	switch {
	case n.Stdio != nil:
		s.Name, s.Transport, s.Command, s.Args = n.Stdio.Name, mcpconfig.Stdio, n.Stdio.Command, n.Stdio.Args
		s.Env = map[string]string{}
		for _, v := range n.Stdio.Env {
			if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.Contains(v.Value, "\x00") {
				return nil, fmt.Errorf("%s: %q can't be a variable", called(s.Name), v.Name)
			}
			s.Env[v.Name] = v.Value
		}
		if s.Command == "" || strings.Contains(s.Command, "\x00") {
			return nil, fmt.Errorf("%s has no command", called(s.Name))
		}
	case n.Http != nil:
		s.Name, s.Transport, s.URL = n.Http.Name, mcpconfig.HTTP, n.Http.Url
		return s, remote(s, n.Http.Headers)
	case n.Sse != nil:
		s.Name, s.Transport, s.URL = n.Sse.Name, mcpconfig.SSE, n.Sse.Url
		return s, remote(s, n.Sse.Headers)
	default:
		return nil, errors.New("a server is of a type that the worker has not offered: stdio, http and sse are")
	}
	if s.Name == "" {
		return nil, errors.New("a server has no name")
	}
	return s, nil
}

// remote sets the headers of a server on another machine, and checks its URL.
func remote(s *mcpconfig.Server, headers []acp.HttpHeader) error {
	if s.Name == "" {
		return errors.New("a server has no name")
	}
	s.Headers = map[string]string{}
	for _, h := range headers {
		if err := httpheader.Check(h.Name, h.Value); err != nil {
			return fmt.Errorf("%s: %w", called(s.Name), err)
		}
		s.Headers[h.Name] = h.Value
	}
	if err := mcpconfig.CheckURL(s.URL); err != nil {
		return fmt.Errorf("%s: %w", called(s.Name), err)
	}
	return nil
}

func called(name string) string { return "the server " + termtext.OneLine(name, termtext.MaxServer) }
