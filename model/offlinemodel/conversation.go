package offlinemodel

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentworker/worker/model"
)

// conversation is what the messages of a request say about the question at
// hand and the work done for it.
type conversation struct {
	prompt  string
	earlier string // the prompt before it; empty means none
	done    []exchange
	steps   int // messages with calls
}

// exchange is a tool call and its result.
type exchange struct {
	call    call
	text    string // the result
	isError bool
}

// call is a tool call. It holds the arguments that this package makes use of.
type call struct {
	tool string
	args arguments
}

type arguments struct {
	Path        string `json:"path,omitempty"`
	Pattern     string `json:"pattern,omitempty"`
	Offset      int    `json:"offset,omitempty"`
	Limit       int    `json:"limit,omitempty"`
	Description string `json:"description,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
	AgentType   string `json:"agentType,omitempty"`
}

// arguments returns the JSON of the call's arguments.
func (c call) arguments() string {
	b, _ := json.Marshal(c.args) // there are only strings and numbers
	return string(b)
}

// readConversation finds the question at hand: the last message of the user
// that holds no results, and what has been done since.
func readConversation(req *model.Request) *conversation {
	now, before := &conversation{}, &conversation{}
	calls := map[string]call{} // by their ids
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			var args arguments
			_ = json.Unmarshal([]byte(c.Arguments), &args) // fails on calls of others alone
			calls[c.ID] = call{c.Name, args}
		}
		if len(m.ToolCalls) > 0 {
			now.steps++
		}
		for _, r := range m.ToolResults {
			now.done = append(now.done, exchange{calls[r.ToolCallID], r.Text, r.IsError})
		}
		switch text := strings.TrimSpace(m.Text); {
		case m.Role != model.User || len(m.ToolResults) > 0 || text == "":
		case taskOutcome.MatchString(text): // of a task in the background
			now.done = append(now.done, exchange{call{tool: taskTool}, text, false})
		default:
			before, now = now, &conversation{prompt: text, earlier: now.prompt}
		}
	}
	// A request to conclude may stand in a message of its own: then the
	// question is the one before it.
	if req.NoToolCalls && len(now.done) == 0 && len(before.done) > 0 {
		return before
	}
	return now
}

// evidence is what the tools have returned so far.
type evidence struct {
	files    map[string]*fileEvidence
	names    []string            // of all files that are known, in order
	listings map[string][]string // by folder: what list_dir returned
	made     map[call]bool       // calls that have been made
	problems []string            // what failed, was denied, or was kept back
}

// fileEvidence is what is known of one file.
type fileEvidence struct {
	lines map[int]string
	whole bool // read from the first to the last line
}

var (
	grepLine     = regexp.MustCompile(`^(.+?):(\d{1,9}):(?: (.*)|(.*))$`)
	numberedLine = regexp.MustCompile(`^\s*(\d{1,9})(?:→|\t|: ?| ?\| ?)(.*)$`)
)

// gather reads the results of all calls.
func gather(done []exchange) *evidence {
	ev := &evidence{files: map[string]*fileEvidence{}, listings: map[string][]string{}, made: map[call]bool{}}
	for _, e := range done {
		ev.add(e)
	}
	ev.names = slices.AppendSeq(ev.names, maps.Keys(ev.files))
	slices.Sort(ev.names)
	ev.names = slices.Compact(ev.names)
	return ev
}

func (ev *evidence) add(e exchange) {
	c, lines, more := e.call, []string{}, false
	ev.made[c] = true
	if e.isError {
		ev.problem(code(strings.TrimSpace(c.tool+" "+c.args.Path)) + " failed: " + e.text)
		return
	}
	for l := range strings.Lines(strings.ReplaceAll(e.text, "\r", "")) {
		l = strings.TrimSuffix(l, "\n")
		switch {
		case !strings.HasPrefix(l, "(") || !strings.HasSuffix(l, ")"):
			lines = append(lines, l)
		case strings.Contains(l, "may not read"): // a remark of the tool, as are the others
			ev.problem(strings.Trim(l, "()"))
		case strings.Contains(l, "there are more"), strings.Contains(l, "go on with offset"):
			more = true
		}
	}
	switch c.tool {
	case "grep":
		for _, l := range lines {
			if m := grepLine.FindStringSubmatch(l); m != nil && filepath.IsLocal(m[1]) && m[2] != "0" {
				n, _ := strconv.Atoi(m[2]) // at most 9 digits
				ev.file(m[1]).lines[n] = m[3] + m[4]
			}
		}
	case "glob":
		ev.names = append(ev.names, slices.DeleteFunc(lines, func(l string) bool { return !filepath.IsLocal(l) || strings.HasSuffix(l, "/") })...)
	case "list_dir":
		for _, l := range lines {
			entry, _, _ := strings.Cut(strings.TrimSpace(l), "  ")
			ev.listings[c.args.Path] = append(ev.listings[c.args.Path], entry)
		}
	case "read_file":
		f := ev.file(c.args.Path)
		if c.args.Offset <= 1 && c.args.Limit == 0 && !more {
			f.whole = true
			clear(f.lines) // what only a search has shown is not there any more
		}
		for _, l := range lines {
			if m := numberedLine.FindStringSubmatch(l); m != nil {
				n, _ := strconv.Atoi(m[1]) // at most 9 digits
				f.lines[n] = m[2]
			}
		}
	}
}

func (ev *evidence) problem(what string) {
	if what = shorten(what); !slices.Contains(ev.problems, what) {
		ev.problems = append(ev.problems, what)
	}
}

// file returns what is known of a file, if only that it may be there.
func (ev *evidence) file(path string) *fileEvidence {
	if ev.files[path] == nil {
		ev.files[path] = &fileEvidence{lines: map[int]string{}}
	}
	return ev.files[path]
}

// resolve returns the file that a path means: itself, else the one that ends
// like it and has the shortest path; "": none is known.
func (ev *evidence) resolve(p string) (best string) {
	for _, n := range ev.names {
		if n == p {
			return n
		}
		if strings.HasSuffix(n, "/"+p) && (best == "" || len(n) < len(best)) {
			best = n
		}
	}
	return best
}

// matching returns the numbers of the lines that match.
func (f *fileEvidence) matching(find *regexp.Regexp) (out []int) {
	for _, n := range slices.Sorted(maps.Keys(f.lines)) {
		if find.MatchString(f.lines[n]) {
			out = append(out, n)
		}
	}
	return out
}
