package input

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/picture"
	"github.com/agentworker/worker/internal/spendlimit"
	"github.com/agentworker/worker/internal/strictjson"
)

// MaxTime is the longest time limit of a subagent.
const MaxTime = 24 * time.Hour

const (
	maxLabel    = 200      // bytes of a label, a model or an effort
	maxMetadata = 16 << 10 // bytes
	maxListed   = 100      // entries of a list
)

// Parse reads the arguments of a call: one JSON object and nothing else.
func Parse(args json.RawMessage) (Input, error) {
	var in Input
	if err := strictjson.Decode(args, &in); err != nil {
		return in, fmt.Errorf("the arguments of task: %w", err)
	}
	return in, in.Check()
}

// Check returns an error that says what is wrong with the call.
func (in *Input) Check() error {
	switch {
	case strings.TrimSpace(in.AgentType) == "":
		return errors.New("the arguments of task lack agentType")
	case strings.TrimSpace(in.Prompt) == "":
		return errors.New("the arguments of task lack a prompt")
	case in.Detached && in.Background != nil && !*in.Background:
		return errors.New("the arguments of task: a detached subagent runs in the background, and background is false")
	case in.AllowedTools != nil && len(in.AllowedTools) == 0:
		return errors.New("allowedTools of task is empty: name the tools, or leave it out for all that the agent has")
	case in.WriteRoots != nil && len(in.WriteRoots) == 0:
		return errors.New("writeRoots of task is empty: name the folders, or leave it out")
	case len(in.Attachments) > picture.MaxCall:
		return fmt.Errorf("a call of task has %d attachments at most, and this one has %d", picture.MaxCall, len(in.Attachments))
	case len(in.AllowedTools) > maxListed || len(in.WriteRoots) > maxListed:
		return fmt.Errorf("allowedTools and writeRoots of task may have %d entries each", maxListed)
	}
	if err := agentdefs.CheckAll(in.Checks); err != nil {
		return fmt.Errorf("the checks of task: %w", err)
	}
	if err := in.checkBounds(); err != nil {
		return fmt.Errorf("the arguments of task: %w", err)
	}
	_, err := in.Limits()
	return err
}

func (in *Input) checkBounds() error {
	if in.TimeoutSeconds < 0 || in.TimeoutSeconds > int(MaxTime/time.Second) {
		return fmt.Errorf("timeoutSeconds %d is not within 1 and %d", in.TimeoutSeconds, int(MaxTime/time.Second))
	}
	for _, field := range []struct {
		name        string
		bytes, most int
	}{
		{"label", len(in.Label), maxLabel}, {"metadata", len(in.Metadata), maxMetadata},
		{"model", len(in.Model), maxLabel}, {"effort", len(in.Effort), maxLabel},
	} {
		if field.bytes > field.most {
			return fmt.Errorf("%s has %d bytes, more than %d", field.name, field.bytes, field.most)
		}
	}
	if err := CheckCleanup(in.Cleanup); err != nil {
		return err
	}
	if text := strings.TrimSpace(string(in.Metadata)); text != "" && text != "null" && !strings.HasPrefix(text, "{") {
		return errors.New("metadata is not a JSON object")
	}
	return nil
}

// CheckCleanup returns an error that says what is wrong with a value of [Input.Cleanup].
func CheckCleanup(value string) error {
	if value != "" && value != Keep && value != Delete {
		return fmt.Errorf("cleanup %.50q is neither %q nor %q", value, Keep, Delete)
	}
	return nil
}

// Limits returns the budget of the call.
func (in *Input) Limits() (spendlimit.Limits, error) {
	var l spendlimit.Limits
	if len(in.Budget) == 0 || string(in.Budget) == "null" {
		return l, nil
	}
	if err := json.Unmarshal(in.Budget, &l); err != nil {
		return l, fmt.Errorf("the arguments of task: budget: %w", err)
	}
	return l, nil
}

// Plain reports whether the call has no more than a task and an agent.
func (in Input) Plain() bool {
	in.Description, in.Prompt, in.AgentType, in.Traceparent, in.Background, in.Attachments = "", "", "", "", nil, nil
	return reflect.ValueOf(in).IsZero()
}
