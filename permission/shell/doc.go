// Package shell turns a command line into the values that permission rules
// decide about.
//
// [Values] parses the line as bash does and follows it without running it.
// [AlwaysPatterns] names the rules that an "always" answer to a call adds. The
// package says which commands these are, to ask a person well; what they can
// touch, a sandbox says. It knows nothing of rules and decisions, and of a
// program only what its row of permission/internal/program/programs.txt has.
//
// An analysis reads a script from top to bottom. shell.go reads the commands,
// stmt.go the constructs around them, word.go and variables.go their words.
// state.go has what is certain at one point of the script, findings.go what was
// found. run.go and builtin.go follow what commands run; files.go and git.go
// find the files that words name.
package shell
