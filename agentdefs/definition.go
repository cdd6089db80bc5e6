package agentdefs

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/diag"
)

// Definition is one agent. It is immutable after loading and may be shared:
// a child keeps the definition it was started with while files change.
type Definition = definition.Definition

// Field is a field of a file that has no meaning here, as written.
type Field = definition.OtherField

// Check is a condition for the answer of an agent: a path must exist, or a
// command must end with status 0.
type Check = definition.Check

// Exists reports whether a tool of the catalogue is there in this version.
func Exists(tool string) bool { return definition.Exists(tool) }

// CheckAll reports what is wrong with checks.
func CheckAll(checks []Check) error { return definition.CheckAll(checks) }

// Mode says where an agent may be used.
type Mode = definition.Mode

// The modes. A file that names none is a Subagent.
const (
	Primary  = definition.Primary
	Subagent = definition.Subagent
	All      = definition.All
)

// Host is a caller that is not an agent: a connected host, or the command line.
const Host = definition.Host

// Limits of the steps of one run, and what holds where a file is silent.
const (
	DefaultMaxSteps = definition.DefaultMaxSteps
	MaxMaxSteps     = definition.MaxMaxSteps
	MaxForkTurns    = definition.MaxForkTurns
)

// Schema returns the JSON Schema (2020-12) of an agent file's frontmatter, for
// editors and checks. Fields that it does not know are allowed.
func Schema() (*jsonschema.Schema, error) { return definition.Schema() }

// Diagnostic is one finding about an agent file or folder.
type Diagnostic = diag.Diagnostic

// Severity says what a diagnostic means for the agent it speaks of.
type Severity = diag.Severity

// The severities.
const (
	Error       = diag.Error
	Warning     = diag.Warning
	Information = diag.Information
)

// Code says what a diagnostic's code means, in Markdown of one line.
type Code = diag.Code

// Codes returns every code that a diagnostic may have, errors first.
func Codes() []Code { return diag.Codes() }
