package tool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/gitplace"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

// lockNames waits until neither a file tool nor a command makes names in the workspace, and keeps
// both from it until unlock.
func (ws *Workspace) lockNames() (unlock func(), err error) {
	ws.writing.Lock()
	release, err := sandbox.LockNames(ws.opts.Sandbox.Dir)
	if err != nil {
		ws.writing.Unlock()
		return nil, fmt.Errorf("waiting for commands that make names: %w", err)
	}
	return func() { release(); ws.writing.Unlock() }, nil
}

// writable returns an error if nothing may write the file real, whatever the rules allow.
func (ws *Workspace) writable(real string) error {
	if why := gitplace.Refused(ws.files.Dir(), real); why != "" {
		return fmt.Errorf("%s is refused: %s", rootfs.Show(real), why)
	}
	return nil
}

// isAgentFile reports whether a path, relative to the workspace or absolute, is
// in a folder of agent files, or is one.
func (ws *Workspace) isAgentFile(name string) bool {
	return ws.among(name, ws.sources(ws.opts.AgentFiles.Folders))
}

// among reports whether a path is one of the others or below it.
func (ws *Workspace) among(name string, dirs []string) bool {
	for _, dir := range dirs {
		if rel, ok := ws.files.RelAbs(dir); ok {
			dir = rel
		}
		if dir = path.Clean(dir); strings.EqualFold(name, dir) || len(name) > len(dir) && strings.EqualFold(name[:len(dir)+1], dir+"/") {
			return true
		}
	}
	return false
}

// withAgentFiles adds values that make a person be asked where a call writes an agent file.
// after returns the new content of the file at a path. A nil after means that it is unknown.
func (ws *Workspace) withAgentFiles(values []permission.Value, after func(real string) ([]byte, error)) []permission.Value {
	var control []string
	for _, v := range slices.Clone(values) {
		if v.Tool != toolcatalog.WriteFile && v.Tool != toolcatalog.EditFile || v.OnlyDenies() {
			continue
		}
		if control == nil {
			control = ws.gitControl()
		}
		if why := gitplace.Refused(ws.files.Dir(), v.Text); why != "" && !filepath.IsAbs(v.Text) {
			v.Certainty, v.Why = permission.Unknown, why
			values = append(values, v)
			continue
		}
		if ws.among(v.Text, control) {
			v.Certainty, v.Why = permission.Unknown, "git takes its settings or programs from it"
			values = append(values, v)
			continue
		}
		if !ws.isAgentFile(v.Text) {
			continue
		}
		v.Certainty = permission.Unknown
		v.Why = "it is a file of agents, which says what they may or should do"
		if change := ws.opts.AgentFiles.Change; change != nil && after != nil {
			if content, err := after(v.Text); err == nil {
				v.Why += "; " + change(v.Text, ws.contentOf(v.Text), content)
			}
		}
		values = append(values, v)
	}
	return values
}

// contentOf returns what a file holds now; nil means there is none, or none that can
// be read.
func (ws *Workspace) contentOf(real string) []byte {
	f, _, err := ws.files.OpenFile(real)
	if err != nil {
		return nil
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, ws.opts.MaxFileBytes))
	if err != nil {
		return nil
	}
	return content
}

// maxSources bounds the names that are looked at below one folder.
const maxSources = 5000

// sources returns paths and all that symlinks at them, above them and below them lead
// to: a file that is read by one name is protected by its others.
func (ws *Workspace) sources(paths []string) []string {
	out := slices.Clone(paths)
	add := func(path string) (real string) {
		values, err := ws.rules.PathValues(toolcatalog.WriteFile, path)
		if err != nil {
			return ""
		}
		for _, v := range values {
			if !v.OnlyDenies() {
				if real = v.Text; !slices.Contains(out, real) {
					out = append(out, real)
				}
			}
		}
		return real
	}
	for _, path := range paths {
		real := add(path)
		if real == "" {
			continue
		}
		if !filepath.IsAbs(real) {
			real = filepath.Join(ws.files.Dir(), real)
		}
		looked := 0
		_ = filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
			if looked++; looked > maxSources {
				return filepath.SkipAll
			}
			if err == nil && d.Type()&fs.ModeSymlink != 0 {
				add(path)
			}
			return nil
		})
	}
	return out
}

// gitAnswer is what git has said of the workspace, as long as the files that it has
// said it from are the same.
type gitAnswer struct {
	stamp   string
	files   []string
	control []string
}

// gitControl returns what git runs or reads settings from in the workspace, as git
// itself says: hooks, included settings, programs that settings name.
func (ws *Workspace) gitControl() []string {
	ws.gitAsking.Lock()
	defer ws.gitAsking.Unlock()
	if ws.gitSaid.files != nil && ws.gitSaid.stamp == stampOf(ws.gitSaid.files) {
		return ws.gitSaid.control
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	root := ws.files.Dir()
	answer := gitAnswer{files: []string{filepath.Join(root, ".git"), filepath.Join(root, ".git", "config")}, control: []string{}}
	if _, err := os.Lstat(answer.files[0]); err == nil {
		if listed, err := worktree.Git(ctx, root, "config", "--list", "-z", "--show-origin", "--includes"); err == nil {
			ws.readSettings(&answer, listed)
		}
	}
	answer.control = ws.sources(answer.control)
	answer.stamp = stampOf(answer.files)
	ws.gitSaid = answer
	return answer.control
}

// readSettings takes from git's list of settings what they name in the workspace.
func (ws *Workspace) readSettings(answer *gitAnswer, listed []byte) {
	root := ws.files.Dir()
	note := func(list *[]string, path string) {
		if !slices.Contains(*list, path) {
			*list = append(*list, path)
		}
	}
	fields := bytes.Split(listed, []byte{0})
	for i := 0; i+1 < len(fields); i += 2 {
		origin, ok := strings.CutPrefix(string(fields[i]), "file:")
		if !ok {
			continue
		}
		if !filepath.IsAbs(origin) {
			origin = filepath.Join(root, origin)
		}
		note(&answer.files, origin)
		if within(root, origin) && !strings.Contains(origin, "/.git/") {
			note(&answer.control, origin)
		}
		key, value, _ := strings.Cut(string(fields[i+1]), "\n")
		include := key == "include.path" || strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path")
		whole := include || key == "core.hookspath"
		words := []string{value}
		if !whole {
			words = strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n\"';|&()!", r) })
		}
		for _, word := range words {
			if rest, ok := strings.CutPrefix(word, "~/"); ok {
				word = filepath.Join(ws.home, rest)
			}
			base := root
			if include {
				base = filepath.Dir(origin)
			}
			if !filepath.IsAbs(word) {
				word = filepath.Join(base, word)
			}
			info, err := os.Stat(word)
			if include {
				note(&answer.files, word)
			}
			if word != root && within(root, word) && (whole || err == nil && info.Mode().IsRegular()) {
				note(&answer.control, word)
			}
		}
	}
}

// stampOf tells versions of files apart.
func stampOf(files []string) string {
	var b strings.Builder
	for _, f := range files {
		if info, err := os.Lstat(f); err == nil {
			id, _ := rootfs.Identify(info)
			fmt.Fprintf(&b, "%d %d %v", info.Size(), info.ModTime().UnixNano(), id)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
