package offlinemodel

import (
	"iter"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// evidence is what the tools have returned so far.
type evidence struct {
	files    map[string]*fileEvidence
	names    []string            // files that glob found, in its order
	listings map[string][]string // by folder: what list_dir returned
	cut      map[string]bool     // patterns of glob and grep that there is more of than is shown
	made     map[call]bool       // calls that have been made
	failed   []failure
	leftOut  []string // notices that results were kept back
}

// fileEvidence is what is known of one file.
type fileEvidence struct {
	lines    map[int]string // from grep and read_file
	read     map[int]bool   // those from read_file
	whole    bool           // read from the first to the last line
	searched bool           // by itself
	total    int            // lines of the file, as far as known
}

// failure is a call that has not worked, or was not allowed.
type failure struct {
	call   call
	reason string
}

var (
	grepLine     = regexp.MustCompile(`^(.+?):(\d{1,9}):(?: (.*)|(.*))$`)
	numberedLine = regexp.MustCompile(`^\s*(\d{1,9})(?:→|\t|: ?| ?\| ?)(.*)$`)
	refused      = regexp.MustCompile(`(?i)\b(denied|deny|refused|not allowed|not permitted|nobody can answer|not approved|forbidden)\b`)
)

// gather reads the results of all calls but those of task.
func gather(done [][]exchange) *evidence {
	ev := &evidence{files: map[string]*fileEvidence{}, listings: map[string][]string{}, cut: map[string]bool{}, made: map[call]bool{}}
	seen := map[string]bool{}
	// What was read is truer than what a search shows of a line: it comes last.
	for _, reads := range []bool{false, true} {
		for _, step := range done {
			for _, e := range step {
				if e.call.tool != taskTool && (e.call.tool == "read_file") == reads {
					ev.add(e.call, e.text, e.isError, seen)
				}
			}
		}
	}
	return ev
}

func (ev *evidence) add(c call, text string, isError bool, seen map[string]bool) {
	ev.made[c] = true
	if isError {
		ev.failed = append(ev.failed, failure{c, oneLine(text)})
		return
	}
	if c.tool == "grep" && c.args.Limit == maxFileLines && c.args.Path != "" {
		ev.file(c.args.Path).searched = true
	}
	last, more := 0, false
	for l := range strings.Lines(strings.ReplaceAll(text, "\r", "")) {
		if l = strings.TrimSuffix(l, "\n"); strings.HasPrefix(l, "(") && strings.HasSuffix(l, ")") { // a remark of the tool
			if strings.Contains(l, "may not read") && !slices.Contains(ev.leftOut, l) {
				ev.leftOut = append(ev.leftOut, strings.Trim(l, "()"))
			}
			ev.cut[c.args.Pattern] = ev.cut[c.args.Pattern] || c.args.Path == "" && strings.Contains(l, "there are more")
			more = more || strings.Contains(l, "go on with offset")
			continue
		}
		switch c.tool {
		case "grep":
			if m := grepLine.FindStringSubmatch(l); m != nil && isInside(m[1]) && m[2] != "0" {
				n, _ := strconv.Atoi(m[2]) // at most 9 digits
				ev.file(m[1]).lines[n] = m[3] + m[4]
			}
		case "glob":
			if l = strings.TrimSpace(l); isInside(l) && !strings.HasSuffix(l, "/") && !seen[l] {
				seen[l] = true
				ev.names = append(ev.names, l)
			}
		case "list_dir":
			if entry, _, _ := strings.Cut(strings.TrimSpace(l), "  "); entry != "" {
				entry, _, _ = strings.Cut(entry, " -> ")
				ev.listings[c.args.Path] = append(ev.listings[c.args.Path], entry)
			}
		case "read_file":
			m := numberedLine.FindStringSubmatch(l)
			if m == nil {
				continue
			}
			if n, _ := strconv.Atoi(m[1]); n > 0 && (last == 0 || n == last+1) {
				last = n
				ev.file(c.args.Path).lines[n], ev.file(c.args.Path).read[n] = m[2], true
			}
		}
	}
	if c.tool != "read_file" {
		return
	}
	if f := ev.file(c.args.Path); c.args.Offset <= 1 && !more && (c.args.Limit == 0 || last < c.args.Limit) {
		f.whole, f.total = true, last
	}
}

func (ev *evidence) file(path string) *fileEvidence {
	if ev.files[path] == nil {
		ev.files[path] = &fileEvidence{lines: map[int]string{}, read: map[int]bool{}}
	}
	return ev.files[path]
}

// isInside reports whether a path of a result is one that a tool would name: a
// relative path that stays below the workspace.
func isInside(p string) bool { return p != "" && filepath.IsLocal(p) && !strings.Contains(p, "\x00") }

// has reports whether a file of the path is known to be there.
func (ev *evidence) has(p string) bool {
	return ev.files[p] != nil && len(ev.files[p].lines) > 0 || slices.Contains(ev.names, p)
}

// resolve returns the file that a path means: itself, else the one that ends
// like it and has the shortest path; "": none is known.
func (ev *evidence) resolve(p string) (best string) {
	if ev.has(p) {
		return p
	}
	for _, n := range ev.names {
		if strings.HasSuffix(n, "/"+p) && (best == "" || len(n) < len(best)) {
			best = n
		}
	}
	return best
}

// inOrder yields the numbers of the lines that are known.
func (f *fileEvidence) inOrder() iter.Seq[int] {
	return slices.Values(slices.Sorted(maps.Keys(f.lines)))
}

// denied reports whether a call was not let through, rather than has failed.
func (f *failure) denied() bool {
	reason := f.reason
	if p := f.call.args.Path; p != "" {
		reason = strings.ReplaceAll(reason, p, "") // a name says nothing of why
	}
	return refused.MatchString(reason)
}

// oneLine returns the beginning of a text as one line.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if short := cut(s, 240); short != s {
		return short + "…"
	}
	return s
}
