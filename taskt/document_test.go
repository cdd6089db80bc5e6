package taskt_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/offer"
)

// TestDocument holds the JSON that scripts and clients read.
func TestDocument(t *testing.T) {
	rec := record.Record{ID: "ses_c", ParentID: "ses_p", Steps: 2, Usage: model.Usage{InputTokens: 10, OutputTokens: 3, CacheReadTokens: 4}}
	tests := []struct {
		result taskt.Result
		want   string
	}{
		{
			taskt.Result{Agent: "explore", SessionID: "ses_c", Status: record.Completed, Text: "found", Record: rec, Duration: 1500 * time.Microsecond},
			`{"type":"task_result","agent":"explore","sessionId":"ses_c","parentId":"ses_p","status":"completed","text":"found",` +
				`"result":"\u003ctask_result agent=\"explore\"\u003e\nfound\n\u003c/task_result\u003e",` +
				`"usage":{"inputTokens":10,"outputTokens":3,"cacheReadTokens":4},"steps":2,"durationMs":1}`,
		},
		{
			taskt.Result{Agent: "nobody", Status: record.Failed, Text: "no such agent", Err: errors.New("no such agent")},
			`{"type":"task_error","agent":"nobody","status":"failed","error":"no such agent",` +
				`"result":"\u003ctask_error agent=\"nobody\"\u003e\nno such agent\n\u003c/task_error\u003e",` +
				`"usage":{"inputTokens":0,"outputTokens":0},"steps":0,"durationMs":0}`,
		},
	}
	for _, tt := range tests {
		got, err := json.Marshal(tt.result.Document())
		if err != nil || string(got) != tt.want {
			t.Errorf("%+v: %v\ngot  %s\nwant %s", tt.result, err, got, tt.want)
		}
	}
}

func TestReadInput(t *testing.T) {
	e := newEnv(t, answer("x"), taskt.Limits{}, nil)
	in, err := e.ReadInput([]byte(" {\"prompt\":\"p\",\"agentType\":\"explore\"}\n"))
	if want := (taskt.Input{Prompt: "p", AgentType: "explore"}); err != nil || !reflect.DeepEqual(in, want) {
		t.Errorf("%+v, %v, want %+v", in, err, want)
	}
	for data, unknown := range map[string]bool{
		``:                                      false,
		`null`:                                  false,
		`[]`:                                    false,
		`{"prompt":"p"}`:                        false,
		`{"agentType":"explore"}`:               false,
		`{"prompt":"p","agentType":"explore"`:   false,
		`{"prompt":"p","agentType":"explore"}x`: false,
		`{"prompt":"p","agentType":"explore"}{"prompt":"q","agentType":"explore"}`: false,
		`{"prompt":"p","agentType":"explore","x":1}`:                               false,
		`{"prompt":"p","agentType":"Explorer"}`:                                    true,
	} {
		in, err := e.ReadInput([]byte(data))
		var is *offer.UnknownAgentError
		if err == nil || errors.As(err, &is) != unknown {
			t.Errorf("%s: %+v, %v", data, in, err)
		}
	}
}
