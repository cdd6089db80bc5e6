package settings

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/agentdefs"
)

// limits say how much may run, and how deep.
type limits struct {
	MaxSteps     int // of an agent whose file does not say; 0 means by the file's form
	ModelRetries int // of an answer that failed for a short time
	MaxDepth     int // of sessions
	MaxChildren  int // that run at once
	MaxPerParent int // likewise
	MaxToolCalls int // of one step that run at once, except those of task
	MaxStreams   int // that a token holds open at once
	Takeovers    int // of a subagent whose process was killed
}

// limit is one of them.
type limit struct {
	flag                   string
	value                  *int
	otherwise, least, most int
	help                   string
}

func (l *limits) all() []limit {
	return []limit{
		{"max-steps", &l.MaxSteps, 0, 0, agentdefs.MaxMaxSteps, "how many model calls with tools an agent makes whose file does not say, 1 to 1,000 (default: 10; for a file in the form of another tool that tool's, or 100)"},
		{"model-retries", &l.ModelRetries, 10, 0, 100, "how often an answer of a model that failed for a short time begins anew, 0 to 100"},
		{"max-depth", &l.MaxDepth, 1, 1, 5, "how deep agents may call agents, 1 to 5; 1: subagents call none"},
		{"max-children", &l.MaxChildren, 10, 1, 10_000, "how many subagents run at once, at each depth, 1 to 10,000"},
		{"max-per-parent", &l.MaxPerParent, 5, 1, 10_000, "how many subagents of one parent run at once, 1 to 10,000"},
		{"max-tool-calls", &l.MaxToolCalls, 16, 1, 1_000, "how many other tool calls of one step run at once, 1 to 1,000"},
		{"max-streams", &l.MaxStreams, 1_000, 1, 100_000, "how many streams over HTTP a token may hold open at once, 1 to 100,000"},
		{"takeovers", &l.Takeovers, 1, 0, 10, "how often a worker goes on with a subagent in the background whose worker was killed, 0 to 10; 0: never"},
	}
}

// Bounded are the limits by their keys.
func (l *limits) Bounded() map[string]*int {
	values := make(map[string]*int)
	for _, limit := range l.all() {
		values[configKey(limit.flag)] = limit.value
	}
	return values
}

func (l *limits) register(flags *pflag.FlagSet) {
	for _, limit := range l.all() {
		flags.IntVar(limit.value, limit.flag, limit.otherwise, limit.help)
	}
}

func (l *limits) check() error {
	for _, limit := range l.all() {
		if *limit.value < limit.least || *limit.value > limit.most {
			return fmt.Errorf("%s %d is not within %d and %d", limit.flag, *limit.value, limit.least, limit.most)
		}
	}
	return nil
}
