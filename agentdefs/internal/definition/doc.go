// Package definition turns an agent file into a definition. The table in
// fields.go says what a file may hold: how each field is written, what an editor
// should know of it, and where its value goes.
package definition
