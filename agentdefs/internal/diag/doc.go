// Package diag holds what can be wrong with an agent file or folder: the codes,
// with what they mean and how to help, and the collecting of what one file has.
package diag
