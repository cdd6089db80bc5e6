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
	v := agentValues(values)
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
