//go:build !darwin && !windows

package policy

// Dir is the folder of the machine's policy.
const Dir = "/etc/agentworker"
