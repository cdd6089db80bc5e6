package mcpclient

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/internal/termtext"
)

// Bounds of what a server may say of its tools.
const (
	maxTools       = 2000     // of one server
	maxDescription = 2048     // characters
	maxSchema      = 64 << 10 // bytes
	maxList        = 32 << 20 // bytes, of a kept list
	maxName        = 64       // characters of a tool's name, as models take it
)

// listed is a tool as a server has listed it, cleaned.
type listed struct {
	Name        string          `json:"name"` // the server's
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	Hints       string          `json:"hints,omitempty"` // what its annotations claim, for people
}

// clean returns a tool in a form that can be offered.
func clean(t *mcp.Tool) listed {
	l := listed{Name: t.Name, Description: describe(t), Schema: schemaOf(t.InputSchema)}
	if a := t.Annotations; a != nil {
		var hints []string
		if a.ReadOnlyHint {
			hints = append(hints, "reads only")
		}
		if a.DestructiveHint != nil && *a.DestructiveHint {
			hints = append(hints, "destroys")
		}
		if a.OpenWorldHint != nil && *a.OpenWorldHint {
			hints = append(hints, "reaches the network")
		}
		l.Hints = strings.Join(hints, ", ")
	}
	return l
}

func describe(t *mcp.Tool) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	return strings.TrimSpace(termtext.Cut(termtext.Printable(termtext.EscapeTags(strings.ToValidUTF8(text, "\uFFFD"))), maxDescription))
}

// anyObject is the schema of a tool whose own is none.
var anyObject = json.RawMessage(`{"type":"object"}`)

// schemaOf returns the schema of a tool's arguments: an object. A schema that is broken
// or too large is replaced by one for any object.
func schemaOf(schema any) json.RawMessage {
	raw, err := json.Marshal(schema)
	if err != nil || len(raw) > maxSchema {
		return anyObject
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || object == nil {
		return anyObject
	}
	switch kind := string(object["type"]); kind {
	case `"object"`:
	case "":
		object["type"] = json.RawMessage(`"object"`)
	default:
		return anyObject
	}
	delete(object, "$schema") // some providers refuse it
	if raw, err = json.Marshal(object); err != nil {
		return anyObject
	}
	var read jsonschema.Schema
	if json.Unmarshal(raw, &read) != nil {
		return anyObject
	}
	return raw
}

// ToolName returns the name by which models and rules know a tool: mcp__SERVER__TOOL, in
// small letters, digits and underscores. A name that would be too long for models ends in a
// hash.
func ToolName(server, tool string) string {
	name := "mcp__" + Part(server) + "__" + letters(tool)
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(tool))
		name = name[:maxName-9] + "_" + hex.EncodeToString(sum[:4])
	}
	return name
}

// Part returns the part of tools' names that stands for a server.
func Part(server string) string {
	part := letters(server)
	for strings.Contains(part, "__") {
		part = strings.ReplaceAll(part, "__", "_")
	}
	if part = strings.Trim(part, "_"); part == "" {
		part = "server"
	}
	return termtext.Head(part, 32)
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '_'
	}, s)
}

// lists are the kept lists of a workspace's servers.
type lists struct{ dir string }

func (l lists) path(s *mcpconfig.Server) string { return filepath.Join(l.dir, s.Hash()+".json") }

// load returns the list of a server; nil means that there is none yet.
func (l lists) load(s *mcpconfig.Server) ([]listed, error) {
	text, err := boundedfile.Read(l.path(s), maxList)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := []listed{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", l.path(s), err)
	}
	return all, nil
}

// store keeps the list of a server. It reports whether it differs from the kept one.
func (l lists) store(s *mcpconfig.Server, all []listed) (changed bool, err error) {
	text, err := json.Marshal(all)
	if err != nil {
		return false, err
	}
	if before, err := boundedfile.Read(l.path(s), maxList); err == nil && bytes.Equal(before, text) {
		return false, nil
	}
	return true, errors.Join(os.MkdirAll(l.dir, 0o700), atomicfile.Write(l.path(s), text, 0o600))
}

// forget removes the list of a server.
func (l lists) forget(s *mcpconfig.Server) error {
	if err := os.Remove(l.path(s)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
