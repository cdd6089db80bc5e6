package masking_test

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/session/masking"
)

const mark = "[masked: GitHub]"

// key has the form of one of GitHub's.
var key = "gh" + "p_" + strings.Repeat("a1B2c3D4", 5)[:36]

// own are the fields without words of a model, a tool, a file or a provider. They are ids,
// names of agents, models, statuses and limits, hashes, and the names of people.
var own = []string{
	"SessionID", "AgentType", "ParentID", "ParentMessageID", "MessageID", "ToolCallID", "ApprovalID", "QuestionID", "BootID", "ID",
	"Agent", "Agents", "Added", "Changed", "Removed", "Model", "Name", "Before", "After", "Status", "StopReason", "Outcome", "Code", "Limit", "Reason of Retry", "Cost", "Used", "Max",
	"Resumes", "Traceparent", "Policy", "Fingerprint", "By", "SetBy", "MediaType", "SHA256", "CommandID",
}

// fill sets all texts below v to the key.
func fill(v reflect.Value, field, of string) {
	switch v.Kind() {
	case reflect.String:
		if !slices.Contains(own, field) && !slices.Contains(own, field+" of "+of) {
			v.SetString(key)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), field, of)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"message":"` + key + `"}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), field, of)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(v.Field(i), f.Name, v.Type().Name())
			}
		}
	}
}

// TestEvent: every event with a key, in any field, is shown without it. Others stay the
// same.
func TestEvent(t *testing.T) {
	source, err := os.ReadFile("../../eventbus/event/types.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`func \((\w+)\) Type\(\) string +\{ return "(\w+)" \}`).FindAllStringSubmatch(string(source), -1)
	if len(names) < 20 {
		t.Fatalf("%d types of events", len(names))
	}
	for _, name := range names {
		if name[1] == "ContentDelta" || name[1] == "ReasoningDelta" || name[1] == "SubagentEvent" { // masked by Deltas; an envelope
			continue
		}
		ev, err := event.Decode([]byte(`{"type":"` + name[2] + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		if shown, differs := masking.Event(ev); differs || !reflect.DeepEqual(shown, ev) {
			t.Errorf("%s: %+v", name[1], shown)
		}
		filled := reflect.New(reflect.TypeOf(ev))
		fill(filled.Elem(), "", "")
		ev = filled.Elem().Interface().(event.Event)
		before, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		shown, differs := masking.Event(ev)
		after, err := json.Marshal(shown)
		if err != nil || strings.Contains(string(after), key) || differs != strings.Contains(string(before), key) {
			t.Errorf("%s (differs: %t, %v): %s", name[1], differs, err, after)
		}
		if again, _ := json.Marshal(ev); string(again) != string(before) {
			t.Errorf("%s: what came is changed: %s", name[1], again)
		}
	}
}

// TestDeltas: the deltas together are the mask of what was said, and have the right
// offsets.
func TestDeltas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a ", key, key[:9], "\n", ".", "é"}), 1, 8).Draw(t, "text"), "")
		var d masking.Deltas
		var got, reasoning string
		publish := func(ev event.Event) {
			switch ev := ev.(type) {
			case event.ContentDelta:
				if ev.Offset != len(got) || ev.MessageID != "m" {
					t.Fatalf("%+v, behind %d bytes", ev, len(got))
				}
				got += ev.Delta
			case event.ReasoningDelta:
				if ev.Offset != len(reasoning) {
					t.Fatalf("%+v, behind %d bytes", ev, len(reasoning))
				}
				reasoning += ev.Delta
			}
		}
		for left := text; left != ""; {
			n := rapid.IntRange(1, len(left)).Draw(t, "piece")
			if ev, ok := d.Reasoning("m", left[:n]); ok {
				publish(ev)
			}
			if ev, ok := d.Text("m", left[:n]); ok {
				publish(ev)
			}
			left = left[n:]
		}
		d.End("m", publish)
		if want := secrets.Mask(text); got != want || reasoning != want || d.Masks() != strings.Contains(want, mark) {
			t.Fatalf("%q and %q, want %q", got, reasoning, want)
		}
	})
}

// TestAlways: no rule is made of what nobody has seen.
func TestAlways(t *testing.T) {
	if got := masking.Always([]string{"make *", "curl -H " + key}); got != nil {
		t.Errorf("%q", got)
	}
	if got := masking.Always([]string{"make *"}); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
