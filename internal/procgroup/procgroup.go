// Package procgroup ends what a command has started together with it: its process group, on Windows
// its job object.
package procgroup
