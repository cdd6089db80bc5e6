package permission

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
func globbed(dir string, t text) (files []string, ok bool) {
	p := t.pattern
	base := dir
	if strings.HasPrefix(p, "/") {
		base = "/"
	}
	found := []string{""}
	for _, seg := range strings.Split(strings.Trim(p, "/"), "/") {
		var next []string
		if !pattern.HasMeta(seg, 0) {
			name := unescape(seg)
			for _, f := range found {
				if _, err := os.Lstat(filepath.Join(base, f, name)); err == nil {
					next = append(next, filepath.Join(f, name))
				}
			}
		} else {
			expr, err := pattern.Regexp(seg, pattern.Filenames|pattern.EntireString)
			if err != nil {
				return nil, false
			}
			re, err := regexp.Compile(expr)
			if err != nil {
				return nil, false
			}
			for _, f := range found {
				entries, _ := os.ReadDir(filepath.Join(base, f))
				for _, e := range entries {
					if re.MatchString(e.Name()) && (e.Name()[0] != '.' || seg[0] == '.' || seg[0] == '[' || seg[0] == '\\') {
						next = append(next, filepath.Join(f, e.Name()))
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
