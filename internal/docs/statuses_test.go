package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
)

// TestStatuses holds that what names the statuses of sessions names those of the table. The
// statuses that are said of a record, and the ones that only an event has, are asked for apart.
func TestStatuses(t *testing.T) {
	ofRecords := func(s event.Status) bool { return s.Recorded() == s }
	stays := func(s event.Status) bool { return s.Recorded() != "" } // not followed by an end at once
	for _, place := range []struct {
		file, pattern string // its group has the names
		has           func(event.Status) bool
		also          []string // no statuses
	}{
		{"frontdoor/httpserver/openapi/openapi.yaml", `(?m)^    Status:\n      type: string\n      enum: \[(.*)\]$`, ofRecords, []string{"accepted"}},
		{"docs/reference/subagents.md", "(?m)^\\| `status` \\| (queued, .*) \\|$", ofRecords, nil},
		{"docs/reference/events.md", "(?m)^\\| `status_change` \\| status: ([^;]*);", func(s event.Status) bool { return !s.Ended() && s != event.StatusRunning }, nil},
		{"frontdoor/httpserver/page/assets/format.js", `(?s)\nconst words = \{(.*?)\};`, stays, nil},
		{"frontdoor/httpserver/page/assets/timeline.js", `(?s)\nconst words = \{(.*?)\};`,
			func(s event.Status) bool { return stays(s) && !s.Ended() && s != event.StatusRunning }, nil},
	} {
		found := regexp.MustCompile(place.pattern).FindStringSubmatch(read(t, place.file))
		if found == nil {
			t.Errorf("%s has no list of statuses", place.file)
			continue
		}
		var got []string
		for name := range strings.SplitSeq(regexp.MustCompile(`'[^']*'`).ReplaceAllString(found[1], ""), ",") {
			if name, _, _ = strings.Cut(strings.TrimSpace(name), ":"); name != "" {
				got = append(got, name)
			}
		}
		want := slices.Clone(place.also)
		for s := range event.Statuses() {
			if place.has(s) {
				want = append(want, string(s))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the statuses\n%v, want\n%v", place.file, got, want)
		}
	}
}

// TestStatusWords holds that a terminal and a host are told something of each status in which
// neither calls nor subagents do it.
func TestStatusWords(t *testing.T) {
	for s := range event.Statuses() {
		said := s.Words() != ""
		silent := s.Ended() || s.Recorded() == "" || s == event.StatusRunning || s == event.StatusIdle || s.Calling() && !s.Waiting()
		if said == silent {
			t.Errorf("%s has the words %q", s, s.Words())
		}
	}
}
