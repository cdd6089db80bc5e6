// Package commands keeps the background commands of sessions: what they write, their input, their
// end. It has the tools that read, feed and stop them.
//
// shell_exec decides how a command is started and held, and hands it over as a
// [tool.BackgroundCommand]. This package decides how long it is kept, and ends it with its session.
package commands
