// Package access makes the permission rules of an agent from the fields of its
// file, in our own words and in those of other tools.
//
// It never guesses in favour of the agent. A field that cannot be read exactly
// refuses the file. If a rule of another tool has limits that cannot be
// expressed here, then an allow allows nothing, and a deny denies everything.
package access
