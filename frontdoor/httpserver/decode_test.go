package httpserver

import (
	"encoding/json"
	"net/url"
	"slices"
	"testing"
)

// FuzzExplain: what is taken of a call to explain is a tool, and either a text or an
// object.
func FuzzExplain(f *testing.F) {
	for _, seed := range []string{`{"tool":"x"}`, `{"tool":"x","arguments":{"a":1}}`, `{"tool":"x","arguments":null}`, `{"tool":"x","arg":"b"}{}`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := readExplain(body)
		if err != nil {
			return
		}
		if in.Tool == "" {
			t.Error("there is no tool")
		}
		var object map[string]json.RawMessage
		if len(in.Arguments) > 0 && (in.Arg != string(in.Arguments) || json.Unmarshal([]byte(in.Arg), &object) != nil) {
			t.Errorf("arguments %q, arg %q", in.Arguments, in.Arg)
		}
	})
}

// FuzzCursor: whatever cursor a client sends, it gets a part of the list in its order, and
// with the cursors that it is given all of the rest.
func FuzzCursor(f *testing.F) {
	f.Add("", "1")
	f.Add("Yg", "2")
	f.Add("!", "x")
	all := []string{"a", "b", "bb", "c"}
	f.Fuzz(func(t *testing.T, cursor, limit string) {
		query := url.Values{"cursor": {cursor}, "limit": {limit}}
		var got []string
		for {
			page, next, err := part(query, all, func(s string) string { return s })
			if err != nil {
				if len(got) > 0 {
					t.Fatalf("a cursor of ours: %v", err)
				}
				return
			}
			got = append(got, page...)
			if next == "" {
				break
			}
			query.Set("cursor", next)
		}
		if !slices.Equal(got, all[len(all)-len(got):]) {
			t.Errorf("%v", got)
		}
	})
}
