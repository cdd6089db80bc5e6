package spendlimit_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/internal/spendlimit"
)

func TestParse(t *testing.T) {
	full := spendlimit.Limits{Tokens: 200_000, Cost: 1_500_000_000, ModelCalls: 40, ToolCalls: 100, Time: 10 * time.Minute, Ask: true}
	for text, want := range map[string]spendlimit.Limits{
		"": {},
		"tokens=200k,cost=1.50,modelCalls=40,toolCalls=100,time=10m,then=ask": full,
		" tokens = 2M , cost = $0.000000001 ,":                                {Tokens: 2_000_000, Cost: 1},
		"time=90":                                                             {Time: 90 * time.Second},
		"tokens=1,then=stop":                                                  {Tokens: 1},
	} {
		got, err := spendlimit.Parse(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]spendlimit.Limits{
		`{"tokens":200000,"cost":1.5,"modelCalls":"40","toolCalls":100,"time":600,"then":"ask"}`: full,
		`"tokens=200k"`: {Tokens: 200_000},
		`{}`:            {},
	} {
		var got spendlimit.Limits
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"token=1":            `unknown name "token" (did you mean "tokens"?)`,
		"tokens":             `"tokens" is not NAME=VALUE`,
		"tokens=0":           "is not a whole number from 1",
		"tokens=-5":          "is not a whole number from 1",
		"tokens=1.5":         "is not a whole number from 1",
		"tokens=9999999999k": "is not a whole number from 1",
		"tokens=1,tokens=2":  "tokens is there twice",
		"cost=0":             "is not an amount of US dollars",
		"cost=NaN":           "is not an amount of US dollars",
		"cost=Inf":           "is not an amount of US dollars",
		"time=1ms":           "is not a time from 1s",
		"time=NaN":           "is not a time from 1s",
		"time=1e300":         "is not a time from 1s",
		"then=go":            `is neither "ask" nor "stop"`,
		"then=ask":           "limits nothing",
	} {
		if _, err := spendlimit.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`[]`:              "neither an object",
		`7`:               "neither an object",
		`{"tokens":true}`: "neither a number nor a text",
		`{"tokens":{}}`:   "neither a number nor a text",
		`{"tokens":1e2}`:  "is not a whole number",
		`{"Tokens":1}`:    "unknown name",
		`{"then":"ask"}`:  "limits nothing",
		`"tokens=0"`:      "is not a whole number",
	} {
		var got spendlimit.Limits
		if err := json.Unmarshal([]byte(text), &got); err == nil || !strings.Contains(err.Error(), want) || !got.None() {
			t.Errorf("%s: %+v, %v, want an error with %q", text, got, err, want)
		}
	}
}

// TestRoundTrip: what is written is read as the same.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Int64Range(0, spendlimit.Most)
		l := spendlimit.Limits{
			Tokens: count.Draw(t, "tokens"), Cost: rapid.Int64Range(0, 1e15).Draw(t, "cost"),
			ModelCalls: count.Draw(t, "modelCalls"), ToolCalls: count.Draw(t, "toolCalls"),
			Time: time.Duration(rapid.IntRange(0, 30*24*3600).Draw(t, "time")) * time.Second,
		}
		l.Ask = !l.None() && rapid.Bool().Draw(t, "ask")
		if got, err := spendlimit.Parse(l.String()); err != nil || got != l {
			t.Fatalf("%q: %+v, %v, want %+v", l, got, err, l)
		}
		data, err := json.Marshal(l)
		var got spendlimit.Limits
		if err != nil || json.Unmarshal(data, &got) != nil || got != l {
			t.Fatalf("%s, %v: %+v, want %+v", data, err, got, l)
		}
	})
}
