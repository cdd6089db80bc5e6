package tool_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/tool"
)

func TestCheckJSON(t *testing.T) {
	for text, want := range map[string]string{ // a part of the error; empty means none
		`{"a":1,"b":[{"a":1},{"a":2}]}`: "",
		` "text" `:                      "",
		`null`:                          "",
		``:                              "unexpected end",
		`{"a":1} x`:                     "invalid character",
		`{"a":1}{"a":1}`:                "invalid character",
		`{"a":1,"a":1}`:                 `key "a" is given twice`,
		`[{"x":{"b":1,"\u0062":2}}]`:    `key "b" is given twice`,
		strings.Repeat("[", 20_000):     "depth",
	} {
		err := tool.CheckJSON([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("CheckJSON(%.60s) = %v, want %q in it", text, err, want)
		}
	}
}
