// Package permission decides whether a tool call may run.
//
// Rules and values go in, a [Decision] comes out. The package knows nothing of
// sessions or models. A [Ruleset] is an ordered list of rules, in which the last
// match wins. [Layers] combines the agent's, the static and the runtime rulesets;
// the agent layer has a veto. A [Value] is one thing that a call wants to do.
// [Workspace] finds the values of paths; package permission/shell finds those of
// command lines. [File] is the permissions.jsonc that people edit.
//
// # Rules
//
// The compact format, in YAML or in JSON with comments:
//
//	rules   = { tool ":" ( action | { pattern ":" action } ) }
//	tool    = glob        of the tool's name
//	pattern = glob        of a value; an action alone is that of "*"
//	action  = "allow" | "ask" | "deny"
//
// Order counts: of the rules that match, the last decides, and where none does,
// a person is asked. In JSON each object may be a list of pairs instead:
// [["shell_exec", [["*", "ask"], ["git *", "allow"]]]].
//
//	read_file:
//	  "*": allow
//	  "*.env": deny
//	shell_exec:
//	  "*": ask
//	  "git *": allow
//	  "git push *": deny
//
// A pattern that begins with "/" is matched against a file's absolute path;
// "~/" and "$HOME/" in front mean the home folder. All others see the path
// relative to the workspace. Text is compared in Unicode's form NFC.
// [github.com/agentworker/worker/permission/glob] describes the globs.
package permission
