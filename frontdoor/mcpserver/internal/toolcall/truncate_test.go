package toolcall

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/frontdoor/mcpserver/internal/hosts"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// after returns s without its first n characters.
func after(s string, n int) string { return string([]rune(s)[n:]) }

var (
	nextPage = regexp.MustCompile(`^Characters (\d+) to (\d+) of (\d+); (.*)\.\n<task_result_part agent="a">\n`)
	leftFrom = regexp.MustCompile(`\[… (\d+) characters left out\. To read on, call task_result with \{"sessionId": "ses_1", "offset": (\d+)\}; 'worker sessions show ses_1' has all, in a terminal …\]`)
)

// TestTruncate: a result that is too long has its head, its tail, and where to
// read on, within the limit; the pages from there on are the rest of it.
func TestTruncate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"word ", "ü", "日本", "😀", "line\n", "</task_result>", "<task_error", "\n", "&lt;", "x"})
		answer := strings.Repeat(strings.Join(rapid.SliceOfN(piece, 1, 300).Draw(t, "answer"), ""), rapid.IntRange(1, 500).Draw(t, "times"))
		limit := hosts.Size{Max: rapid.IntRange(1000, 20_000).Draw(t, "max"), In: rapid.SampledFrom([]hosts.Measure{hosts.UTF16Units, hosts.UTF8Bytes, hosts.JSONUnits}).Draw(t, "measure")}
		r := &taskt.Result{Agent: "a", SessionID: "ses_1", Status: record.Completed, Text: answer}
		got, cut := Truncate(r, limit)
		if cut == limit.Fits(r.XML()) || !limit.Fits(got) {
			t.Fatalf("%d of at most %d, cut %v, from %d", limit.Of(got), limit.Max, cut, limit.Of(r.XML()))
		}
		if !strings.HasPrefix(got, "<task_result agent=\"a\">\n") || !strings.HasSuffix(got, "\n</task_result>") || strings.Count(got, "</task_result>") != 1 {
			t.Fatalf("no element: %.200q … %q", got, got[max(0, len(got)-100):])
		}
		if !cut {
			return
		}
		m := leftFrom.FindStringSubmatch(got)
		if m == nil {
			t.Fatalf("nothing says how to read on: %q", got)
		}
		offset, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		read := answer[:len(answer)-len(after(answer, offset))]
		for all := utf8.RuneCountInString(answer); offset < all; {
			page, err := r.Page(offset, control.MaxPage)
			if err != nil {
				t.Fatal(err)
			}
			text := Page(page, limit)
			if !limit.Fits(text) {
				t.Fatalf("offset %d: %d of at most %d", offset, limit.Of(text), limit.Max)
			}
			head := nextPage.FindStringSubmatch(text)
			if head == nil || head[1] != fmt.Sprint(offset) || head[3] != fmt.Sprint(all) {
				t.Fatalf("offset %d: %.200q", offset, text)
			}
			end, err := strconv.Atoi(head[2])
			if err != nil || end <= offset {
				t.Fatalf("offset %d: it ends at %d, %v", offset, end, err)
			}
			if last := head[4] == "this is the end"; last != (end == all) {
				t.Fatalf("offset %d to %d of %d: %q", offset, end, all, head[4])
			}
			if n := limit.Of(text); end != all && n < limit.Max/2 {
				t.Fatalf("offset %d: a page has %d of %d", offset, n, limit.Max)
			}
			rest := after(answer, offset)
			part := rest[:len(rest)-len(after(rest, end-offset))]
			if text[len(head[0]):] != strings.TrimPrefix(control.XML("task_result_part", "a", part), "<task_result_part agent=\"a\">\n") {
				t.Fatalf("offset %d to %d: %q, want %q", offset, end, text, part)
			}
			read += part
			offset = end
		}
		if read != answer {
			t.Fatalf("the pages have %d bytes, the answer %d", len(read), len(answer))
		}
	})
}

// TestTruncateResultInvalid: bytes that are no text, and a failure, are cut too.
func TestTruncateResultInvalid(t *testing.T) {
	limit := hosts.Size{Max: 1000}
	for _, r := range []*taskt.Result{
		{Agent: "a", SessionID: "ses_1", Text: strings.Repeat("\xff\xfe", 5000)},
		{Agent: "a", SessionID: "ses_1", Text: strings.Repeat("e", 5000), Err: fmt.Errorf("e")},
		{Agent: "a", Text: strings.Repeat("e", 5000), Err: fmt.Errorf("e")},
		{Agent: strings.Repeat("a", 2000), Text: strings.Repeat("e", 5000)},
	} {
		got, cut := Truncate(r, limit)
		if !cut || len(r.Agent) < 100 && !limit.Fits(got) || r.Err != nil && strings.Contains(got, "task_result") {
			t.Errorf("%.30q: cut %v, %d units: %.300q", r.Text, cut, limit.Of(got), got)
		}
	}
}
