package sessions

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"

	"github.com/agentworker/worker/cmd/worker/internal/recording"
	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/boundedfile"
)

// Version is the version of the format.
const Version = 1

// Manifest says what a bundle is of: manifest.json in it.
type Manifest struct {
	Version   int    `json:"version"`
	Worker    string `json:"worker"` // the version of the program that has made the bundle
	System    string `json:"system"` // such as linux/amd64
	SessionID string `json:"sessionId"`
	Agent     string `json:"agent"`
	Primary   bool   `json:"primary,omitempty"` // it was run as a primary agent
	Model     string `json:"model"`
	Prompt    string `json:"prompt"` // the first message
	Status    string `json:"status"`
	Error     string `json:"error,omitempty"`
	Answer    string `json:"answer,omitempty"`

	Agents map[string]string `json:"agents"`           // the SHA-256 of their files, by the names of these
	Rules  string            `json:"rules,omitempty"`  // the SHA-256 of permissions.jsonc
	Policy string            `json:"policy,omitempty"` // the hash of the policy that the session began under
	Commit string            `json:"commit,omitempty"` // of git, when the bundle was made
	Diff   string            `json:"diff,omitempty"`   // the SHA-256 of what differs from it
}

// Call is a tool call, or a command that was checked.
type Call struct {
	Agent     string `json:"agent"`
	ID        string `json:"id,omitempty"` // empty: a check
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	Result    string `json:"result"`
	IsError   bool   `json:"isError,omitempty"`
	Refused   bool   `json:"refused,omitempty"`
}

// Bundle is the content of a bundle.
type Bundle struct {
	Manifest  Manifest
	Recording *recording.Recording
	Calls     []Call            // in their order
	Agents    map[string][]byte // their files, by name
	Rules     []byte            // permissions.jsonc; nil means there was none
	Diff      []byte
}

// What a bundle has at most.
const (
	maxPacked  = 64 << 20  // bytes
	maxContent = 256 << 20 // bytes, unpacked
	maxEntries = 1000
)

// The entries of a bundle.
const (
	manifestEntry  = "manifest.json"
	recordingEntry = "recording.json"
	callsEntry     = "calls.json"
	rulesEntry     = "permissions.jsonc"
	diffEntry      = "git.diff"
	agentsFolder   = "agents/"
)

// agentFile is the name of an agent's file in a bundle: one in a folder, and nothing else.
var agentFile = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}\.md$`)

// Write writes the bundle to a file that only its owner reads.
func (b *Bundle) Write(file string) error {
	entries := map[string][]byte{}
	for name, v := range map[string]any{manifestEntry: b.Manifest, recordingEntry: b.Recording, callsEntry: b.Calls} {
		data, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			return err
		}
		entries[name] = append(data, '\n')
	}
	for name, data := range b.Agents {
		entries[agentsFolder+name] = data
	}
	if b.Rules != nil {
		entries[rulesEntry] = b.Rules
	}
	if len(b.Diff) > 0 {
		entries[diffEntry] = b.Diff
	}
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	archive := tar.NewWriter(packed)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		header := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(entries[name])), Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(entries[name]); err != nil {
			return err
		}
	}
	if err := errors.Join(archive.Close(), packed.Close()); err != nil {
		return err
	}
	return atomicfile.Write(file, out.Bytes(), 0o600)
}

// Open reads the bundle in a file.
func Open(file string) (*Bundle, error) {
	data, err := boundedfile.Read(file, maxPacked)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	b, err := Read(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", file, err)
	}
	return b, nil
}

// Read reads a bundle, which anybody may have made. It refuses names that [Bundle.Write]
// does not use, and more data than a bundle has. It writes nothing.
func Read(r io.Reader) (*Bundle, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	archive := tar.NewReader(packed)
	entries := map[string][]byte{}
	left := int64(maxContent)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		_, twice := entries[header.Name]
		if twice || !known(header.Name) || header.Typeflag != tar.TypeReg || len(entries) == maxEntries {
			return nil, fmt.Errorf("the entry %.100q does not belong into a bundle", header.Name)
		}
		data, err := io.ReadAll(io.LimitReader(archive, left+1))
		if err != nil {
			return nil, err
		}
		if left -= int64(len(data)); left < 0 {
			return nil, fmt.Errorf("it has more than %d MiB", maxContent>>20)
		}
		entries[header.Name] = data
	}
	return read(entries)
}

func known(name string) bool {
	switch name {
	case manifestEntry, recordingEntry, callsEntry, rulesEntry, diffEntry:
		return true
	}
	return len(name) > len(agentsFolder) && name[:len(agentsFolder)] == agentsFolder && agentFile.MatchString(name[len(agentsFolder):])
}

func read(entries map[string][]byte) (*Bundle, error) {
	b := &Bundle{Agents: map[string][]byte{}, Rules: entries[rulesEntry], Diff: entries[diffEntry]}
	var err error
	for name, v := range map[string]any{manifestEntry: &b.Manifest, callsEntry: &b.Calls} {
		if err := json.Unmarshal(entries[name], v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if b.Manifest.Version != Version {
		return nil, fmt.Errorf("it has version %d, and this worker reads version %d", b.Manifest.Version, Version)
	}
	if b.Recording, err = recording.Read(entries[recordingEntry]); err != nil {
		return nil, fmt.Errorf("%s: %w", recordingEntry, err)
	}
	for name, data := range entries {
		if known(name) && len(name) > len(agentsFolder) && name[:len(agentsFolder)] == agentsFolder {
			b.Agents[name[len(agentsFolder):]] = data
		}
	}
	for name, hash := range b.Manifest.Agents {
		if Hash(b.Agents[name]) != hash {
			return nil, fmt.Errorf("the agent file %.100q is not the one that the manifest names", name)
		}
	}
	if b.Manifest.Rules != "" && Hash(b.Rules) != b.Manifest.Rules || b.Manifest.Diff != "" && Hash(b.Diff) != b.Manifest.Diff {
		return nil, errors.New("the rules or the diff differ from the manifest")
	}
	return b, nil
}

// Hash is the hash of a file in a manifest.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
