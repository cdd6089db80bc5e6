// Package agentdefs finds and reads agent files: Markdown with a frontmatter,
// written for this worker or for another tool.
//
// A file becomes a [Definition], the definitions of a workspace a [Snapshot],
// which is immutable and says with each [Diagnostic] what was wrong, where, and
// what to do about it. [Load] makes one; a [Registry] holds the newest.
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
// Many real files are no valid YAML, so what is unambiguous is recovered and
// said. Permission is never guessed at: a file in which permission, tools,
// disallowedTools, permissionMode or readonly cannot be read exactly is refused,
// and no built-in agent stands in under its name. A file that says nothing about
// permission gets no rules: the user's decide, and what none of those names is
// asked about.
package agentdefs
