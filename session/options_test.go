package session_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/agentworker/worker/session"
)

// TestDefaultLimits: the figures that docs/reference/limits.md gives.
func TestDefaultLimits(t *testing.T) {
	want := session.Limits{ModelCall: 120 * time.Second, ModelTotal: 30 * time.Minute, Retries: 10, ToolCall: 30 * time.Second, Approval: 10 * time.Minute, Pause: 30 * time.Minute, StepCalls: 16}
	if got := session.DefaultLimits(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
