// Package shell turns a command line into the values that permission rules
// judge.
//
// [Values] parses the line as bash does and follows it without running it.
// [AlwaysPatterns] names the rules that an "always" answer to a call adds. The
// package knows commands and files; it knows nothing of rules and decisions.
//
// It has more files than most packages: one for each construct of the shell and
// for each family of commands that need a reading of their own.
package shell
