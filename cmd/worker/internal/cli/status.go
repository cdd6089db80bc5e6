package cli

import (
	"errors"
	"fmt"
)

// Status is one that the program exits with. As an error it ends the program;
// what there was to say has been said.
type Status int

// The statuses.
const (
	Done        Status = 0
	Failed      Status = 1
	WrongUse    Status = 2
	Refused     Status = 3
	OverBudget  Status = 4
	OutOfTime   Status = 5
	CheckFailed Status = 6
	OutOfSteps  Status = 7
	Interrupted Status = 130
)

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

type usageError struct{ err error }

// Usage makes err an error of use: the command line, or what it names, is wrong.
func Usage(err error) error { return usageError{err} }

// IsUsage reports whether err is an error of use.
func IsUsage(err error) bool { return errors.As(err, &usageError{}) }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }
