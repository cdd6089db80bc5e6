// Package scan finds the agent files of a workspace without reading them, and
// notes every folder that a path to one leads through.
//
// A folder that cannot be read is never taken for an empty one. Its files keep their
// earlier listing, or the folder is reported as one that may restrict any agent.
package scan
