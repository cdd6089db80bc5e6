// Package hookconfig reads which hooks there are: the files and fields in which this program
// and others have them, each form of the field, into one [Hook]. It runs nothing.
package hookconfig

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/boundedfile"
)

// Dialect is whose payload and whose answers a hook speaks.
type Dialect string

// The dialects.
const (
	Claude  Dialect = "claude"
	Copilot Dialect = "copilot" // events with a small first letter, toolName and toolArgs
)

// The types of hooks that run here.
const (
	Command = "command"
	HTTP    = "http"
)

// Hook is one hook as a file has it.
type Hook struct {
	Event   Event   `json:"event"`
	Dialect Dialect `json:"dialect"`
	Matcher string  `json:"matcher,omitempty"` // of the tool's name; empty means all
	If      string  `json:"if,omitempty"`      // a rule as "Bash(git *)"

	Type    string            `json:"type"`
	Command string            `json:"command,omitempty"` // a line for the shell, or a program with Args
	Exec    bool              `json:"exec,omitempty"`    // Command is a program
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Cwd     string            `json:"cwd,omitempty"` // relative to the workspace

	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`        // values may have $NAME
	EnvVars []string          `json:"allowedEnvVars,omitempty"` // the variables that Headers may use

	Timeout   time.Duration `json:"timeout,omitempty"`   // 0 means the default
	OnFailure string        `json:"onFailure,omitempty"` // "block" or "continue"; empty means block
	Async     bool          `json:"async,omitempty"`     // nobody waits for it
	Wrong     string        `json:"wrong,omitempty"`     // why it can't run here; empty means it can

	Agent      bool   `json:"-"` // an agent file has it: it is for the agent's sessions, and Stop is of any of them
	File       string `json:"-"` // where it is written, as shown to people
	Line       int    `json:"-"` // 0 means not known
	Repository bool   `json:"-"` // the file is the repository's: a person has to trust it

	match func(word string) bool
}

// Source returns where the hook is written: "file:line".
func (h *Hook) Source() string {
	if h.Line == 0 {
		return h.File
	}
	return h.File + ":" + strconv.Itoa(h.Line)
}

// By names the hook in the audit log and to models: "hook FILE:LINE".
func (h *Hook) By() string { return "hook " + h.Source() }

// Same is the same for two states of a hook whose scripts have changed.
func (h *Hook) Same() string { return h.hash(nil) }

// Hash tells the contents of hooks apart: 64 hex digits. It covers what the file says and the
// scripts below root that the command names. One that can't be read, or has more than 4 MiB, makes it
// another each time.
func (h *Hook) Hash(root string) string { return h.hash(h.Scripts(root)) }

func (h *Hook) hash(scripts []string) string {
	text, err := json.Marshal(h) // maps are sorted
	if err != nil {
		panic(fmt.Sprintf("a hook without a JSON form: %v", err)) // texts and numbers always have one
	}
	sum := sha256.New()
	sum.Write(text)
	for _, path := range scripts {
		content, err := boundedfile.Read(path, maxFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			content = []byte("missing")
		case err != nil: // nobody can trust it: it is another one each time
			content = []byte(rand.Text())
		}
		one := sha256.Sum256(content)
		fmt.Fprintf(sum, "\n%q %x", path, one)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// What returns what would run, or be called, in a line for people.
func (h *Hook) What() string {
	if h.Type == HTTP {
		what := h.URL
		if len(h.Headers) > 0 {
			what += " with the headers " + strings.Join(slices.Sorted(maps.Keys(h.Headers)), ", ")
		}
		return what
	}
	what := strings.Join(append([]string{h.Command}, h.Args...), " ")
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(h.Env))) {
		what = name + "=" + h.Env[name] + " " + what
	}
	if h.Cwd != "" {
		what += " (in " + h.Cwd + ")"
	}
	return what
}

// simple are matchers that are lists of names.
var simple = regexp.MustCompile(`^[\w\s|,\-]*$`)

// Matches reports whether the hook is for one of the names. A matcher that can't be read is
// for all.
func (h *Hook) Matches(names ...string) bool {
	return h.match == nil || slices.ContainsFunc(names, h.match)
}

// compile reads the matcher.
func (h *Hook) compile() {
	m := strings.TrimSpace(h.Matcher)
	if m == "" || m == "*" {
		return
	}
	if simple.MatchString(m) {
		words := strings.FieldsFunc(m, func(r rune) bool { return r == '|' || r == ',' })
		h.match = func(word string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.TrimSpace(w) == word })
		}
		return
	}
	if re, err := regexp.Compile(m); err == nil {
		h.match = re.MatchString
	}
}
