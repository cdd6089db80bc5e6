// Package agentdefs finds and reads agent files: Markdown with a frontmatter,
// written for this worker or for another tool.
//
// A file becomes a [Definition], the definitions of a workspace an immutable
// [Snapshot]. Each [Diagnostic] in it says what was wrong, where, and what to
// do about it. [Load] makes one; a [Registry] holds the newest.
//
// # Hot reload
//
// A Registry watches every folder on the way to an agent file, also through
// symlinks. It makes a new snapshot when they change: within milliseconds after
// a save, and one for a checkout. [Registry.Changes] yields each of them, in
// order, however slow the reader. Only changed files are read again. A file
// that breaks keeps its last good version, marked as [Definition.Stale]. A
// well-formed file without an agent removes it at once. Where the system cannot
// report changes, the Registry looks for them every [Options.PollEvery], and a
// diagnostic says that it does.
//
// # Where files are
//
// In a workspace .agents/agents is read, flat, or else .claude/agents with its
// subfolders: the first that exists. Definitions are merged in this order, and
// one that comes later replaces an earlier one of the same name: built-in,
// [Options.UserDir], the workspace, [Options.Dirs]. Unless [Options.Nesting] is
// set, every agent's last rule denies the task tool.
//
// # How files are read
//
// Many real files are not valid YAML. What is unambiguous in them is recovered,
// with a diagnostic. Permission is never guessed. A file is refused if its
// permission, tools, disallowedTools, permissionMode or readonly cannot be read
// exactly, and no built-in agent of the same name replaces it. A file that says
// nothing about permission gets no rules: the user's decide, and what none of
// those names is asked about.
package agentdefs
