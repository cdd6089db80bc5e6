// Package diag holds what can be wrong with agent files and folders. It has the
// codes, with their meaning and remedy, and collects the diagnostics of a file.
package diag
