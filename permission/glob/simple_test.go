package glob

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestSimple holds that the short way to a matcher leads to the same as the long one.
func TestSimple(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[a-zA-Z0-9_ -]{1,12}\*?`).Draw(t, "pattern")
		seq, negated, err := parseGlob(pattern)
		if err != nil || negated {
			t.Fatal(negated, err)
		}
		if short, long := simple(pattern), compile(seq); !reflect.DeepEqual(short, long) {
			t.Errorf("%q: %#v, want %#v", pattern, short, long)
		}
	})
}
