// Package mcpconfig reads which MCP servers there are: the files and fields in which
// this program and others have them, each form of the field, into one [Server].
//
// It runs nothing. What a server's line says is kept as written; [Server.Expand] puts
// in the variables of the environment when it is about to run.
package mcpconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Transport is how a server is spoken to.
type Transport string

// The transports.
const (
	Stdio Transport = "stdio" // a program, on its stdin and stdout
	HTTP  Transport = "http"  // streamable HTTP
	SSE   Transport = "sse"   // HTTP with server-sent events, as of 2024-11-05
)

// Server is an MCP server as a file has it. Variables are written ${NAME} or
// ${NAME:-default}, whatever the form of the file is.
type Server struct {
	Name      string    `json:"name"`
	Transport Transport `json:"transport"`

	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"` // relative to the workspace

	URL           string            `json:"url,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"`
	HeadersHelper string            `json:"headersHelper,omitempty"` // a command line that prints headers as a JSON object

	// Timeout bounds one call. 0 means the default.
	Timeout time.Duration `json:"timeout,omitempty"`

	Only []string `json:"only,omitempty"` // the tools that are offered; none means all
	Not  []string `json:"not,omitempty"`  // tools that are not

	// Literal says that its texts have no variables.
	Literal bool `json:"literal,omitempty"`

	// Reaches are hosts that its program may reach besides those of the trust, as who has named
	// the server says.
	Reaches []string `json:"-"`

	File       string `json:"-"` // where it is written, as shown to people
	Line       int    `json:"-"` // 0 means not known
	Repository bool   `json:"-"` // the file is the repository's: a person has to trust it
	Off        bool   `json:"-"` // its file switches it off
}

// Source returns where the server is written: "file:line".
func (s *Server) Source() string {
	if s.Line == 0 {
		return s.File
	}
	return s.File + ":" + strconv.Itoa(s.Line)
}

// Hash tells the contents of servers apart: 64 hex digits. It covers each field that decides
// what runs, with the texts of the file.
func (s *Server) Hash() string {
	text, err := json.Marshal(s) // maps are sorted
	if err != nil {
		panic(fmt.Sprintf("a server without a JSON form: %v", err)) // texts and numbers always have one
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// What returns what would run, or be called, in a line for people. Values of variables
// are not in it.
func (s *Server) What() string {
	if s.Transport != Stdio {
		what := s.URL
		if len(s.Headers) > 0 {
			what += " with the headers " + strings.Join(slices.Sorted(maps.Keys(s.Headers)), ", ")
		}
		if s.HeadersHelper != "" {
			what += " with headers of the command " + s.HeadersHelper
		}
		return what
	}
	words := []string{}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		words = append(words, name+"="+quote(s.Env[name]))
	}
	for _, word := range append([]string{s.Command}, s.Args...) {
		words = append(words, quote(word))
	}
	what := strings.Join(words, " ")
	if s.Cwd != "" {
		what += " (in " + s.Cwd + ")"
	}
	return what
}

// quote writes a word as a shell would need it.
func quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@=+,%") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Host returns the host and port that a remote server is called at.
func (s *Server) Host() (hostport string, err error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Hostname() == "" {
		return "", fmt.Errorf("the URL %q names no host", s.URL)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port, nil
}

// Offers reports whether the server's file lets a tool of it be offered.
func (s *Server) Offers(tool string) bool {
	return (len(s.Only) == 0 || slices.Contains(s.Only, tool)) && !slices.Contains(s.Not, tool)
}

// Variables returns the variables of the environment that a server is given, sorted.
func (s *Server) Variables() []string {
	seen := map[string]bool{}
	s.walk(func(text string) (string, error) {
		for name := range variables(text) {
			seen[name] = true
		}
		return text, nil
	})
	return slices.Sorted(maps.Keys(seen))
}
