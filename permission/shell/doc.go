// Package shell turns a command line into the values that permission rules
// judge.
//
// [Values] parses the line as bash does and follows it without running it.
// [AlwaysPatterns] names the rules that an "always" answer to a call adds. The
// package knows commands and files; it knows nothing of rules and decisions.
//
// An analysis reads a script from above to below: shell.go the commands, stmt.go
// the constructs around them, word.go what their words become, state.go what is
// certain at a place; run.go and wrap.go follow commands that run others,
// files.go, outputs.go and git.go find the files that commands open.
package shell
