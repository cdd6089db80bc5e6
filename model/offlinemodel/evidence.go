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
	problems []string            // what failed, was denied, or was kept back
}

// fileEvidence is what is known of one file.
type fileEvidence struct {
	lines    map[int]string // from grep and read_file
	read     map[int]bool   // those from read_file
	whole    bool           // read from the first to the last line
	searched bool           // by itself
}

var (
	grepLine     = regexp.MustCompile(`^(.+?):(\d{1,9}):(?: (.*)|(.*))$`)
	numberedLine = regexp.MustCompile(`^\s*(\d{1,9})(?:→|\t|: ?| ?\| ?)(.*)$`)
)

// gather reads the results of all calls.
func gather(done [][]exchange) *evidence {
	ev := &evidence{files: map[string]*fileEvidence{}, listings: map[string][]string{}, cut: map[string]bool{}, made: map[call]bool{}}
	// What was read is truer than what a search shows of a line: it comes last.
	for _, reads := range []bool{false, true} {
		for _, e := range slices.Concat(done...) {
			if (e.call.tool == "read_file") == reads {
				ev.add(e)
			}
		}
	}
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
		case strings.Contains(l, "there are more"):
			ev.cut[c.args.Pattern] = true
		case strings.Contains(l, "go on with offset"):
			more = true
		}
	}
	switch c.tool {
	case "grep":
		ev.addFound(c, lines)
	case "glob":
		ev.names = append(ev.names, slices.DeleteFunc(lines, func(l string) bool { return !isInside(l) || strings.HasSuffix(l, "/") })...)
	case "list_dir":
		for _, l := range lines {
			entry, _, _ := strings.Cut(strings.TrimSpace(l), "  ")
			ev.listings[c.args.Path] = append(ev.listings[c.args.Path], entry)
		}
	case "read_file":
		ev.addRead(c, lines, more)
	}
}

func (ev *evidence) addFound(c call, lines []string) {
	if c.args.Path != "" {
		ev.file(c.args.Path).searched = true
	}
	for _, l := range lines {
		if m := grepLine.FindStringSubmatch(l); m != nil && isInside(m[1]) && m[2] != "0" {
			n, _ := strconv.Atoi(m[2]) // at most 9 digits
			ev.file(m[1]).lines[n] = m[3] + m[4]
		}
	}
}

func (ev *evidence) addRead(c call, lines []string, more bool) {
	f, last := ev.file(c.args.Path), 0
	for _, l := range lines {
		if m := numberedLine.FindStringSubmatch(l); m != nil {
			if n, _ := strconv.Atoi(m[1]); n > 0 && (last == 0 || n == last+1) {
				last = n
				f.lines[n], f.read[n] = m[2], true
			}
		}
	}
	f.whole = f.whole || c.args.Offset <= 1 && !more && (c.args.Limit == 0 || last < c.args.Limit)
}

func (ev *evidence) problem(what string) {
	if what = shorten(strings.Join(strings.Fields(what), " ")); !slices.Contains(ev.problems, what) {
		ev.problems = append(ev.problems, what)
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

// resolve returns the file that a path means: itself, else the one that ends
// like it and has the shortest path; "": none is known.
func (ev *evidence) resolve(p string) (best string) {
	if f := ev.files[p]; f != nil && len(f.lines) > 0 {
		return p
	}
	for _, n := range ev.names {
		if n == p || strings.HasSuffix(n, "/"+p) && (best == "" || len(n) < len(best)) {
			best = n
		}
	}
	return best
}

// inOrder yields the numbers of the lines that are known.
func (f *fileEvidence) inOrder() iter.Seq[int] {
	return slices.Values(slices.Sorted(maps.Keys(f.lines)))
}
