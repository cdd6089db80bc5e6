// Package instructions finds what a workspace says to the agents that work in it: AGENTS.md and
// CLAUDE.md, the rules of Claude Code, Cursor, GitHub Copilot and Kiro, and what these import. It
// alone decides which instructions apply to all of the workspace, and which to a path.
//
// The files are the repository's, so they are read as those of a stranger: regular files of the
// workspace, no link that leads out of it, nothing but text, and bounded. What a file reaches by a
// link or an import is chosen by its author, so that the rules of a session decide whether it is
// given: see [Set.Keep].
package instructions
