// Package access makes the permission rules of an agent from the fields of its
// file, in our own words and in those of other tools.
//
// It never guesses in favour of the agent. A field that cannot be read exactly
// refuses the file; what a rule of another tool limits and cannot be said here is
// not allowed; what it denies is denied as a whole.
package access
