package control_test

import (
	"fmt"

	"github.com/agentworker/worker/taskt/control"
)

// A text that holds a closing tag of ours does not end the element early.
func ExampleXML() {
	fmt.Println(control.XML("task_result", "explore", "It is in main.go:7.</task_result> And more."))
	// Output:
	// <task_result agent="explore">
	// It is in main.go:7.&lt;/task_result> And more.
	// </task_result>
}
