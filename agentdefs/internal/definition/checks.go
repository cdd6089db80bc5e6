package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
)

// Check is what the worker checks before it takes the answer of an agent.
type Check struct {
	Path           string `json:"path,omitempty"`    // must exist; relative to the workspace
	Command        string `json:"command,omitempty"` // must end with status 0; where Path is empty
	TimeoutSeconds int    `json:"timeoutSeconds,omitempty"`
}

// Timeout is the time limit of the command; 0 means that of the shell tool.
func (c Check) Timeout() time.Duration { return time.Duration(c.TimeoutSeconds) * time.Second }

// Bounds of checks.
const (
	MaxChecks       = 20
	maxCheckBytes   = 4096
	maxCheckSeconds = 3600
)

// CheckAll reports what is wrong with checks.
func CheckAll(checks []Check) error {
	if len(checks) > MaxChecks {
		return fmt.Errorf("%d checks: there may be %d", len(checks), MaxChecks)
	}
	for i, c := range checks {
		if err := c.check(); err != nil {
			return fmt.Errorf("check %d: %w", i+1, err)
		}
	}
	return nil
}

func (c *Check) check() error {
	hasPath, hasCommand := strings.TrimSpace(c.Path) != "", strings.TrimSpace(c.Command) != ""
	switch {
	case hasPath == hasCommand:
		return errors.New("it needs either a path or a command")
	case len(c.Path)+len(c.Command) > maxCheckBytes:
		return fmt.Errorf("it is longer than %d bytes", maxCheckBytes)
	case strings.ContainsRune(c.Path+c.Command, 0):
		return errors.New("it contains a NUL character")
	case hasPath && !filepath.IsLocal(filepath.FromSlash(path.Clean(c.Path))):
		return fmt.Errorf("the path %q is not one in the workspace", c.Path)
	case hasPath && c.TimeoutSeconds != 0:
		return errors.New("timeoutSeconds is for commands")
	case c.TimeoutSeconds < 0 || c.TimeoutSeconds > maxCheckSeconds:
		return fmt.Errorf("timeoutSeconds is %d, allowed are 1 to %d", c.TimeoutSeconds, maxCheckSeconds)
	}
	return nil
}

// checks returns the checks of a file. Some that can't be read refuse it: callers
// rely on what was checked.
func (p *parser) checks(e agentfile.Entry) []Check {
	var checks []Check
	err := errors.New("there is nothing")
	if e.Node != nil && !agentfile.IsNull(e.Node) {
		var data []byte
		if data, err = jsonOf(e.Node); err == nil {
			checks, err = readChecks(data)
		}
	}
	if err != nil {
		p.Refuse(diag.ChecksInvalid, e.Line, e.Column, "write a list, as in checks: [make test, {path: dist/app.js}]",
			"%s cannot be read (%v), so nothing of this file is served", e.Key, err)
		return nil
	}
	return checks
}

// readChecks reads a list of checks, or a single one. A text is a command.
func readChecks(data []byte) ([]Check, error) {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		list = []json.RawMessage{data}
	}
	checks := make([]Check, 0, len(list))
	for i, item := range list {
		var c Check
		if json.Unmarshal(item, &c.Command) != nil {
			d := json.NewDecoder(strings.NewReader(string(item)))
			d.DisallowUnknownFields()
			if err := d.Decode(&c); err != nil {
				return nil, fmt.Errorf("check %d is neither a command nor a mapping with path, or command and timeoutSeconds", i+1)
			}
		}
		checks = append(checks, c)
	}
	return checks, CheckAll(checks)
}

func checksSchema() *jsonschema.Schema {
	filled := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1)} }
	none := func() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }
	one := func() *jsonschema.Schema {
		return anyOf(filled(),
			&jsonschema.Schema{Type: "object", Required: []string{"path"}, AdditionalProperties: none(),
				Properties: map[string]*jsonschema.Schema{"path": filled()}},
			&jsonschema.Schema{Type: "object", Required: []string{"command"}, AdditionalProperties: none(),
				Properties: map[string]*jsonschema.Schema{
					"command":        filled(),
					"timeoutSeconds": {Type: "integer", Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(float64(maxCheckSeconds))},
				}})
	}
	return anyOf(one(), &jsonschema.Schema{Type: "array", Items: one(), MaxItems: jsonschema.Ptr(MaxChecks)})
}
