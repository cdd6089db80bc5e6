package event

import "encoding/json"

// AgentsChanged reports, on the workspace's own stream, that a new snapshot of agent
// definitions is in force. Its lists are never nil: they are lists in JSON too.
type AgentsChanged struct {
	Version uint64   `json:"version"` // counted by the process, from 1
	Agents  []string `json:"agents"`  // all names, sorted

	// Added, Changed and Removed are sorted names: the difference from the previous
	// event. Changes made while no worker ran are unknown.
	Added   []string `json:"added"`
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`

	// Diagnostics are those of the files, the worst first. If there are many,
	// DiagnosticsOmitted of them are left out.
	Diagnostics        []json.RawMessage `json:"diagnostics"`
	DiagnosticsOmitted int               `json:"diagnosticsOmitted,omitempty"`

	// Fingerprint is equal for equal definitions.
	Fingerprint string `json:"fingerprint"`
}
