package sandbox

// State is how a command has ended. There is none on this system.
type State struct{}

// ExitCode returns -1.
func (State) ExitCode() int { return -1 }

// Success reports false.
func (State) Success() bool { return false }

// String says that nothing has run.
func (State) String() string { return "not run" }
