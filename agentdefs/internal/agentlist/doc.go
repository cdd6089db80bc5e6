// Package agentlist reads files that hold several agents, such as opencode.json.
//
// Each agent becomes a mapping of the fields that a file with one agent has, with their places in
// the file. What these fields mean, package definition says.
package agentlist
