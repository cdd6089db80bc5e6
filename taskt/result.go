package taskt

import "github.com/agentworker/worker/taskt/control"

// Result is the outcome of a task.
type Result = control.Result

// Document is a result as programs read it.
type Document = control.Document
