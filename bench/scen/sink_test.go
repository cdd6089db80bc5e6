package scen_test

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/bench/scen"
)

// A consumer may get the pieces joined; it must not miss one, get one twice, or
// get them in another order.
func TestSink(t *testing.T) {
	for _, test := range []struct {
		name   string
		deltas []string
		want   string // in the error; empty means none
	}{
		{"pieces", []string{"w0000 ", "w0001 ", "w0002 ", "w0003 end"}, ""},
		{"joined", []string{"w0000 ", "w0001 w0002 w0003 end"}, ""},
		{"lost", []string{"w0000 ", "w0002 ", "w0003 end"}, `has "2 w0003 end" after 10 bytes`},
		{"lost at the end", []string{"w0000 w0001 "}, "ends after 12 of 27 bytes"},
		{"twice", []string{"w0000 ", "w0000 ", "w0001 w0002 w0003 end"}, `has "0 w0001`},
		{"twice at the end", []string{"w0000 w0001 w0002 w0003 end", "w0003 end"}, "goes on after its end"},
		{"disorder", []string{"w0001 ", "w0000 ", "w0002 w0003 end"}, `has "1 w0000`},
		{"none", nil, "0 children, want 1"},
	} {
		k := &scen.Sink{Track: true}
		k.ParentEvent()
		for _, d := range test.deltas {
			k.Delta("a", d)
		}
		err := k.Check(&scen.Script{Fan: 1})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// Without Track the amount is checked.
func TestSinkAmount(t *testing.T) {
	k := &scen.Sink{}
	k.ParentEvent()
	k.Delta("a", "w0000 w0001 w0002 w0003 end")
	if err := k.Check(&scen.Script{Fan: 1}); err != nil {
		t.Error(err)
	}
	if err := k.Check(&scen.Script{Fan: 2}); err == nil {
		t.Error("the text of one child was taken for that of two")
	}
}
