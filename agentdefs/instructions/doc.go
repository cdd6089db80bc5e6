// Package instructions finds what a workspace says to the agents that work in it: AGENTS.md and
// CLAUDE.md, the rules of Claude Code, Cursor, GitHub Copilot and Kiro, and what these import.
//
// The files are the repository's, so they are read as the files of a stranger: regular files with
// bounded text, and no link that leads out of the workspace. The author of a file chooses where
// its links and imports lead, so a session's rules decide about these: see [Set.Keep].
package instructions
