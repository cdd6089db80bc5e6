package settings

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

// TestAgentValues: agents have the names of their files, also with "/". A flag beats the
// environment, which beats the config file.
func TestAgentValues(t *testing.T) {
	values := make(map[string]string)
	v := agentValues(values, false)
	for _, err := range []error{
		v.set("Team/Reviewer=high"),
		v.env("team/reviewer=low, offline=low,"),
		v.config(json.RawMessage(`{"offline": "max", "a/b/c": "replay/x=y.jsonl"}`), ""),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"team/reviewer": "high", "offline": "low", "a/b/c": "replay/x=y.jsonl"}
	if !maps.Equal(values, want) {
		t.Errorf("%v, want %v", values, want)
	}
	for text, wrong := range map[string]string{
		"team/reviewer":     "write AGENT=VALUE",
		"=low":              "write AGENT=VALUE",
		"TEAM/reviewer=low": `"team/reviewer" is given twice`,
	} {
		if err := v.set(text); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, want %q", text, err, wrong)
		}
	}
}

// TestAgentLists: an agent may have a list of models, in each place.
func TestAgentLists(t *testing.T) {
	values := make(map[string]string)
	v := agentValues(values, true)
	for _, err := range []error{
		v.set("a=opus,gpt"),
		v.env("b=sonnet, mini,c=haiku,,d=flash,pro,"),
		v.config(json.RawMessage(`{"e": ["opus", "gpt"], "f": "pro"}`), ""),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"a": "opus,gpt", "b": "sonnet, mini", "c": "haiku", "d": "flash,pro", "e": "opus,gpt", "f": "pro"}
	if !maps.Equal(values, want) {
		t.Errorf("%v, want %v", values, want)
	}
	for _, err := range []error{
		agentValues(map[string]string{}, false).config(json.RawMessage(`{"e": ["high", "low"]}`), ""),
		v.config(json.RawMessage(`{"e": [1]}`), ""), v.config(json.RawMessage(`{"e": []}`), ""), v.env("opus,a=gpt"),
	} {
		if err == nil {
			t.Error("what is no list of models is taken")
		}
	}
}
