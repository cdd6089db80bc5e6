package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/retention"
)

// TestForeignSchema: a record of another schema is refused, and so is a damaged one. Both errors
// say what to do.
func TestForeignSchema(t *testing.T) {
	for name, tt := range map[string]struct{ record, want string }{
		"newer":          {`{"schema":9,"id":"ses_x","status":"running"}`, "_x was stored by another version of the worker (schema 9, this one reads 1)"},
		"none":           {`{"id":"ses_x","status":"running"}`, "_x: it has no schema"},
		"not an object":  {`[]`, "reading a stored session"},
		"cut off":        {`{"schema":1,"id":"ses_x"`, "reading a stored session"},
		"wrong in field": {`{"schema":1,"id":"ses_x","status":7}`, "_x: "},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, turns{say("ok")}, nil)
			e.open(session.Spec{})
			if _, err := e.bus.JetStream().Publish(t.Context(), "$KV.AGENT_SESSIONS.ws.ses_x", []byte(tt.record)); err != nil {
				t.Fatal(err)
			}
			_, get := e.Store().Index.Get(t.Context(), "ses_x")
			_, list := e.Store().Index.List(t.Context())
			_, recover := e.Store().Recovery.Recover(t.Context())
			_, expire := e.Store().Retention.Expire(t.Context(), retention.Limits{Age: 1}, time.Now())
			for what, err := range map[string]error{"Get": get, "Recover": recover, "Expire": expire} {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v, want %q", what, err, tt.want)
				}
			}
			if list != nil { // it has no mark
				t.Errorf("List: %v", list)
			}
		})
	}
}
