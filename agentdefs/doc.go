// Package agentdefs finds and reads agent files: Markdown with a frontmatter,
// written for this worker or for another tool.
//
// A file becomes a [Definition], the definitions of a workspace a [Snapshot],
// which is immutable and says with each [Diagnostic] what was wrong, where, and
// what to do about it. [Load] makes one; a [Registry] holds the newest.
//
// # Hot reload
//
// A Registry watches every folder that a path to an agent file leads through,
// symlinks included, and makes a new snapshot when what is there has changed: a
// single save within milliseconds, a checkout as one. [Registry.Changes] yields
// each of them, in order, however slow the reader. Only changed files are read
// again. A file that breaks keeps its last good version, marked as
// [Definition.Stale]; one that is well formed and has no agent any more is gone
// at once. Where the system cannot tell of changes, the Registry looks for them
// every [Options.PollEvery] and says so with a diagnostic.
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
// with a diagnostic. Permission is never guessed at: a file in which permission, tools,
// disallowedTools, permissionMode or readonly cannot be read exactly is refused,
// and no built-in agent of the same name replaces it. A file that says nothing about
// permission gets no rules: the user's decide, and what none of those names is
// asked about.
package agentdefs
