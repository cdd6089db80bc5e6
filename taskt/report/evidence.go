package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/record"
)

// maxEvidence bounds the places that are looked up, maxLooked the bytes of one file.
const (
	maxEvidence = 100
	maxLooked   = 10 << 20
)

// place is a path and a line, as in src/main.go:12.
var place = regexp.MustCompile(`(?:^|[\s("'` + "`" + `\[<,;*])((?:\.{0,2}/)?[\pL\pN_.@+-]+(?:/[\pL\pN_.@+-]+)*):(\d{1,9})\b`)

// Look looks up the places that the section EVIDENCE names, in the folder root, which
// nothing leads out of. A file that readable refuses is not found: whether it is
// there is not said.
func (r *Report) Look(root string, readable func(path string) bool) []record.Evidence {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer dir.Close()
	var all []record.Evidence
	seen := make(map[string]bool)
	counted := make(map[string]int)
	for _, m := range place.FindAllStringSubmatch(r.Evidence, -1) {
		if key := m[1] + ":" + m[2]; seen[key] || len(all) == maxEvidence {
			continue
		} else {
			seen[key] = true
		}
		line, err := strconv.Atoi(m[2])
		if err != nil {
			continue
		}
		name, ok := local(root, m[1])
		found := record.Evidence{Path: m[1], Line: line}
		lines := 0
		switch {
		case !ok:
			found.Why = "it is not in the workspace"
		case !readable(name):
			found.Why = "the agent may not read it"
		default:
			if lines, found.Why = count(dir, name, counted); found.Why == "" && (line < 1 || line > lines) {
				found.Why = "the file has " + termtext.Plural(lines, "line")
			}
		}
		if found.Found = found.Why == ""; !found.Found && !strings.ContainsAny(m[1], "./") {
			continue // such as "note:3"
		}
		all = append(all, found)
	}
	return all
}

// local returns a path relative to root, if it lies there.
func local(root, name string) (string, bool) {
	if path.IsAbs(name) {
		rel, err := filepath.Rel(root, filepath.FromSlash(name))
		if err != nil {
			return "", false
		}
		name = filepath.ToSlash(rel)
	}
	name = path.Clean(name)
	return name, filepath.IsLocal(filepath.FromSlash(name))
}

// count returns how many lines a file has, or why that is not known.
func count(dir *os.Root, name string, counted map[string]int) (lines int, why string) {
	if n, ok := counted[name]; ok {
		return n, ""
	}
	info, err := dir.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("it is no file")
	case err == nil && info.Size() > maxLooked:
		err = fmt.Errorf("the file has more than %d MiB, and is not looked at", maxLooked>>20)
	}
	if err != nil {
		return 0, errtext.Of(err)
	}
	f, err := dir.Open(name)
	if err != nil {
		return 0, errtext.Of(err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxLooked))
	if err != nil {
		return 0, errtext.Of(err)
	}
	lines = bytes.Count(content, []byte{'\n'})
	if len(content) > 0 && !bytes.HasSuffix(content, []byte{'\n'}) {
		lines++
	}
	counted[name] = lines
	return lines, ""
}
