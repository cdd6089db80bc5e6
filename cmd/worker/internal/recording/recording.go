// Package recording keeps the model calls of a run, and plays them again. It is strict: a
// call that was not recorded fails, with the difference.
//
// A call is identified by its request: the system prompt, the names of the tools and the
// messages. What differs from run to run, such as ids, times and the workspace's folder, is
// first replaced by a fixed word ([Normal]). So calls of agents that work at the same time
// may come in any order.
package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/model"
)

// Version is the version of the format.
const Version = 1

// maxSize bounds a recording, in bytes.
const maxSize = 64 << 20

// Recording is the model calls of a run.
type Recording struct {
	Version int               `json:"version"`
	Models  map[string]string `json:"models"` // the names of models, by the names that agents use; "": the default
	Texts   map[string]string `json:"texts"`  // what calls ask, by its hash
	Calls   []*Call           `json:"calls"`
}

// Call is a model call. What it asks are hashes of Texts.
type Call struct {
	System      string   `json:"system,omitempty"` // empty means any, of tools as well
	Tools       []string `json:"tools,omitempty"`  // their names
	Messages    []string `json:"messages"`
	NoToolCalls bool     `json:"noToolCalls,omitempty"`
	Answer      Answer   `json:"answer"`
}

// Answer is what a model has answered.
type Answer struct {
	model.Message
	Usage *model.Usage     `json:"usage,omitempty"`
	Stop  model.StopReason `json:"stop,omitempty"`
	Error *Failure         `json:"error,omitempty"` // the call has failed
}

// Failure is how a call has failed.
type Failure struct {
	Kind    model.ErrorKind `json:"kind,omitempty"`
	Status  int             `json:"status,omitempty"`
	Message string          `json:"message"`
}

// New returns an empty recording.
func New() *Recording {
	return &Recording{Version: Version, Models: make(map[string]string), Texts: make(map[string]string)}
}

// Read reads a recording. Of a text that is no recording it says where.
func Read(data []byte) (*Recording, error) {
	rec := new(Recording)
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(rec); err != nil {
		line := 1 + bytes.Count(data[:min(int(dec.InputOffset()), len(data))], []byte{'\n'})
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	if rec.Version != Version {
		return nil, fmt.Errorf("it has version %d, and this worker reads version %d: record it again", rec.Version, Version)
	}
	return rec, rec.check()
}

// check holds that each text of a call is there, and is what its hash says.
func (r *Recording) check() error {
	for hash, text := range r.Texts {
		if hashOf(text) != hash {
			return fmt.Errorf("the text %s is not the one of that hash: record it again", hash)
		}
	}
	for i, c := range r.Calls {
		if c == nil || len(c.Messages) == 0 {
			return fmt.Errorf("call %d has no messages", i+1)
		}
		for _, hash := range append(c.Messages[:len(c.Messages):len(c.Messages)], c.System) {
			if _, ok := r.Texts[hash]; !ok && hash != "" {
				return fmt.Errorf("call %d names the text %s, which is not there", i+1, hash)
			}
		}
	}
	return nil
}

// Open reads the recording in a file.
func Open(file string) (*Recording, error) {
	data, err := boundedfile.Read(file, maxSize)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	r, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", file, err)
	}
	return r, nil
}

// Save writes the recording to a file, with what secrets are known masked by mask. A file
// that is no recording is not replaced.
func (r *Recording) Save(file string, mask func(string) string) error {
	data, err := boundedfile.Read(file, maxSize)
	if err == nil {
		var was struct {
			Version int             `json:"version"`
			Calls   json.RawMessage `json:"calls"`
		}
		if json.Unmarshal(data, &was) != nil || was.Version == 0 || was.Calls == nil {
			err = fmt.Errorf("%s is there, and is no recording: remove it, or name another file", file)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(r.Masked(mask)); err != nil {
		return err
	}
	return atomicfile.Write(file, b.Bytes(), 0o644)
}

// Masked returns the recording with each text masked. The hashes are those of the masked
// texts.
func (r *Recording) Masked(mask func(string) string) *Recording {
	masked := &Recording{Version: r.Version, Models: maps.Clone(r.Models), Texts: make(map[string]string)}
	again := map[string]string{"": ""}
	for hash, text := range r.Texts {
		again[hash] = masked.text(mask(text))
	}
	for _, c := range r.Calls {
		made := *c
		made.System, made.Messages = again[c.System], nil
		for _, hash := range c.Messages {
			made.Messages = append(made.Messages, again[hash])
		}
		made.Answer = c.Answer.mapped(mask)
		masked.Calls = append(masked.Calls, &made)
	}
	return masked
}

// mapped returns an answer with each text mapped, except the texts that providers have
// signed.
func (a Answer) mapped(mask func(string) string) Answer {
	a.Text = mask(a.Text)
	calls := make([]model.ToolCall, len(a.ToolCalls))
	for i, c := range a.ToolCalls {
		c.Arguments = mask(c.Arguments)
		calls[i] = c
	}
	a.ToolCalls = calls
	reasoning := make([]model.Reasoning, len(a.Reasoning))
	for i, r := range a.Reasoning {
		r.Text = mask(r.Text)
		reasoning[i] = r
	}
	a.Reasoning = reasoning
	return a
}

// text adds a text, and returns its hash.
func (r *Recording) text(text string) string {
	hash := hashOf(text)
	r.Texts[hash] = text
	return hash
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Conversation adds the model calls of a conversation that was stored.
func (r *Recording) Conversation(n *Normal, messages []model.Message) {
	var before []string
	for _, m := range messages {
		if m.Role == model.Assistant {
			r.Calls = append(r.Calls, &Call{Messages: slices.Clone(before), Answer: Answer{Message: m}.mapped(n.folders.Replace)})
		}
		before = append(before, r.text(n.message(&m)))
	}
	if len(messages) > 0 && messages[len(messages)-1].Role == model.User { // the call after it has failed
		r.Calls = append(r.Calls, &Call{Messages: before, Answer: Answer{Error: &Failure{Kind: model.ErrProtocol, Message: "this call has not been answered"}}})
	}
}
