// Package taskt is the task tool: it turns agent definitions into child
// sessions.
//
// A [Service] offers one tool, "task", whose agentType enum is the set of
// agents in the snapshot of the moment. A call opens a child session below the
// caller's, runs the agent there, and returns the answer as XML:
//
//	<task_result agent="explore">
//	…text…
//	</task_result>
//
// or <task_error agent="…"> in the same form. The child is never allowed more
// than its parent: it is judged by the rulesets of all its ancestors too. Its
// events are stored on the parent's stream, in envelopes, before the result is
// returned.
package taskt
