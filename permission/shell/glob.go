package shell

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/pattern"
)

// maxGlob bounds the files that a pattern is expanded to.
const maxGlob = 1000

// globbed returns the files in dir that the shell would put in place of t; of
// none it leaves the word as it is. ok is false where that cannot be told.
func (a *analysis) globbed(dir string, t text) (files []string, ok bool) {
	p := t.pattern
	base := dir
	if strings.HasPrefix(p, "/") {
		base = "/"
	}
	if base == "" {
		return nil, false
	}
	found := []string{""}
	for _, seg := range strings.Split(strings.Trim(p, "/"), "/") {
		var next []string
		if !pattern.HasMeta(seg, 0) {
			name := unescape(seg)
			for _, f := range found {
				if !a.look(1) {
					return nil, false
				}
				if _, err := os.Lstat(base + "/" + f + "/" + name); err == nil {
					next = append(next, joinRaw(f, name))
				}
			}
		} else {
			if !a.look(10 + len(seg)/16) { // which a pattern costs
				return nil, false
			}
			expr, err := pattern.Regexp(seg, pattern.Filenames|pattern.EntireString)
			if err != nil {
				return nil, false
			}
			re, err := regexp.Compile(expr)
			if err != nil {
				return nil, false
			}
			for _, f := range found {
				if !a.look(1) {
					return nil, false
				}
				entries, _ := os.ReadDir(base + "/" + f)
				a.look(len(entries))
				for _, e := range entries {
					if re.MatchString(e.Name()) && (e.Name()[0] != '.' || seg[0] == '.' || seg[0] == '[' || seg[0] == '\\') {
						next = append(next, joinRaw(f, e.Name()))
					}
				}
			}
		}
		if len(next) > maxGlob {
			return nil, false
		}
		found = next
	}
	if base == "/" {
		for i := range found {
			found[i] = "/" + found[i]
		}
	}
	return found, true
}

// expanded returns what the shell puts in place of a word where it is kept for
// later, as in "for f in *.go": the files of a pattern, or an unknown text
// where those cannot be told.
func (a *analysis) expanded(st *state, t text) []text {
	if !t.known || !t.glob {
		return []text{t}
	}
	if len(st.written) > 0 { // maybe there
		return []text{{}}
	}
	var all []text
	for _, dir := range st.dirs() {
		files, ok := a.globbed(dir, t)
		if !ok || len(files) > maxItems {
			return []text{{}}
		}
		if len(files) == 0 {
			files = []string{t.s}
		}
		for _, f := range files {
			all = append(all, text{s: f, known: true})
		}
	}
	return all
}

// joinRaw joins a path that the kernel walks: where "x" is a link, "x/.." is
// not the folder that x is in.
func joinRaw(dir, name string) string {
	if name == ".." || strings.HasSuffix(dir, "..") || strings.Contains(dir, "../") {
		return strings.TrimPrefix(dir+"/"+name, "/")
	}
	return filepath.Join(dir, name)
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
