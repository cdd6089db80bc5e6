// Package lsp gives sessions what language servers know of their files.
//
// [Servers] knows the language servers of a workspace. The user's settings name some. Files of the
// repository name others, and a person has to trust those first ([Trust]). Known ones are found in
// PATH, outside of the workspace.
//
// A server starts at the first use of a file of its language, and ends with the session. Its sandbox
// is made from the session's rules. It reads what the session may read, writes nothing in the
// workspace, and reaches no host.
//
// [Place.Watch] puts the diagnostics of a changed file behind the result of the tool that has
// changed it. An edit waits [editTime] at most, and not at all for a server that still starts
// for an earlier edit, or works on one. [Place.Tools] are diagnostics, definition, references and symbols.
//
// A server is a stranger. What it writes is read within bounds, and shown as a stranger's text. Places
// in files that the session may not read are counted, not named.
package lsp
