package offlinemodel

import (
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
	cut      map[string]bool     // patterns of grep and glob that there is more of than is shown
	made     map[string]bool     // calls that have been made
	failed   []failure
	leftOut  []string // notices that results were kept back
}

// fileEvidence is what is known of one file.
type fileEvidence struct {
	lines    map[int]string // from grep and read_file
	read     map[int]bool   // those from read_file
	whole    bool           // read from the first to the last line
	searched bool           // on its own
	total    int            // lines of the file, as far as known
}

// failure is a call that has not worked, or was not allowed.
type failure struct {
	call   call
	reason string
}

func callKey(c call) string { return c.tool + " " + c.arguments() }

// gather reads the results of all calls but those of task.
func gather(done [][]exchange) *evidence {
	ev := &evidence{
		files:    map[string]*fileEvidence{},
		listings: map[string][]string{},
		cut:      map[string]bool{},
		made:     map[string]bool{},
	}
	// What was read is truer than what a search shows of a line: it comes last.
	for _, tools := range [][]string{{"grep", "glob", "list_dir"}, {"read_file"}} {
		for _, step := range done {
			for _, e := range step {
				if slices.Contains(tools, e.call.tool) {
					ev.add(e)
				}
			}
		}
	}
	return ev
}

func (ev *evidence) add(e exchange) {
	ev.made[callKey(e.call)] = true
	if e.isError {
		ev.failed = append(ev.failed, failure{e.call, oneLine(e.text)})
		return
	}
	text := strings.ReplaceAll(e.text, "\r", "")
	lines := strings.Split(text, "\n")
	switch e.call.tool {
	case "grep":
		ev.addGrep(e.call, lines)
	case "glob":
		for _, l := range lines {
			if l = strings.TrimSpace(l); isNotice(l) {
				ev.notice(l)
				ev.cut[e.call.args.Pattern] = ev.cut[e.call.args.Pattern] || strings.Contains(l, "there are more")
			} else if isInside(l) && !strings.HasSuffix(l, "/") && !slices.Contains(ev.names, l) {
				ev.names = append(ev.names, l)
			}
		}
	case "list_dir":
		key := e.call.args.Path
		for _, l := range lines {
			if l = strings.TrimSpace(l); isNotice(l) {
				ev.notice(l)
			} else if l != "" {
				name, _, _ := strings.Cut(l, "  ")
				name, _, _ = strings.Cut(name, " -> ")
				ev.listings[key] = append(ev.listings[key], name)
			}
		}
	case "read_file":
		ev.addRead(e.call, lines)
	}
}

var grepLine = regexp.MustCompile(`^(.+?):(\d{1,9}):(?: (.*)|(.*))$`)

func (ev *evidence) addGrep(c call, lines []string) {
	if c.args.Path != "" && c.args.Limit == maxFileLines {
		ev.file(c.args.Path).searched = true
	}
	for _, l := range lines {
		m := grepLine.FindStringSubmatch(l)
		if m == nil {
			if isNotice(l) {
				ev.notice(l)
				ev.cut[c.args.Pattern] = ev.cut[c.args.Pattern] || c.args.Path == "" && strings.Contains(l, "there are more")
			}
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err != nil || n < 1 || !isInside(m[1]) {
			continue
		}
		ev.file(m[1]).lines[n] = m[3] + m[4]
	}
}

var (
	numberedLine = regexp.MustCompile(`^\s*(\d{1,9})(?:→|\t|: ?| ?\| ?)(.*)$`)
	linesOf      = regexp.MustCompile(`^\(lines (\d+) to (\d+) of (\d+)`)
)

func (ev *evidence) addRead(c call, lines []string) {
	f := ev.file(c.args.Path)
	last := 0
	more := false
	for _, l := range lines {
		m := numberedLine.FindStringSubmatch(l)
		if m == nil {
			if isNotice(l) {
				if of := linesOf.FindStringSubmatch(l); of != nil {
					f.total, _ = strconv.Atoi(of[3]) // too large: 0, unknown
				}
				more = more || strings.Contains(l, "go on with offset")
			}
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || n < 1 || last > 0 && n != last+1 {
			continue // no line of the file
		}
		last = n
		f.lines[n], f.read[n] = m[2], true
	}
	if c.args.Offset <= 1 && !more && (c.args.Limit == 0 || last < c.args.Limit) {
		f.whole, f.total = true, last
	}
}

func (ev *evidence) file(path string) *fileEvidence {
	f := ev.files[path]
	if f == nil {
		f = &fileEvidence{lines: map[int]string{}, read: map[int]bool{}}
		ev.files[path] = f
	}
	return f
}

// notice keeps what a tool says about results that it holds back.
func (ev *evidence) notice(l string) {
	l = strings.Trim(l, "()")
	if strings.Contains(l, "may not read") && !slices.Contains(ev.leftOut, l) {
		ev.leftOut = append(ev.leftOut, l)
	}
}

// isNotice reports whether a line is a tool's remark and no result.
func isNotice(l string) bool {
	return strings.HasPrefix(l, "(") && strings.HasSuffix(l, ")")
}

// isInside reports whether a path of a result is one that a tool would name: a
// relative path that stays below the workspace.
func isInside(p string) bool {
	return p != "" && filepath.IsLocal(p) && !strings.ContainsAny(p, "\x00\n")
}

// has reports whether a file of the path is known to be there.
func (ev *evidence) has(p string) bool {
	return ev.files[p] != nil && len(ev.files[p].lines) > 0 || slices.Contains(ev.names, p)
}

// resolve returns the file that a path means: itself, else the one that ends
// like it and has the shortest path; "": none is known.
func (ev *evidence) resolve(p string) string {
	if ev.has(p) {
		return p
	}
	best := ""
	for _, n := range ev.names {
		if strings.HasSuffix(n, "/"+p) && (best == "" || len(n) < len(best)) {
			best = n
		}
	}
	return best
}

// wasRead reports whether the lines from first to last, as far as they exist,
// have been read.
func (f *fileEvidence) wasRead(line int) bool {
	return f != nil && (f.whole || f.read[line])
}

// oneLine returns the beginning of a text as one line.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if short := cut(s, 240); short != s {
		return short + "…"
	}
	return s
}

var refused = regexp.MustCompile(`(?i)\b(denied|deny|refused|not allowed|not permitted|nobody can answer|not approved|forbidden)\b`)

// denied reports whether a call was not let through, rather than has failed.
func (f *failure) denied() bool {
	reason := f.reason
	if p := f.call.args.Path; p != "" {
		reason = strings.ReplaceAll(reason, p, "") // a name says nothing of why
	}
	return refused.MatchString(reason)
}
