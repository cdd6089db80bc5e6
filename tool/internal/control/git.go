package control

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/fileinfo"
	"github.com/agentworker/worker/internal/gitplace"
	"github.com/agentworker/worker/internal/worktree"
)

// setting is one of git's.
type setting struct{ key, value string }

// settings are what git has read from a file, as long as that is the same.
type settings struct {
	info os.FileInfo
	all  []setting
	err  error
}

// globals are the settings of the user and of the system, as long as no file of them changes.
type globals struct {
	files map[string]os.FileInfo
	all   []setting
	err   error
}

const (
	maxSettings = 4 << 20
	maxIncludes = 10 // as git has it
	patience    = 10 * time.Second
)

// repositories adds what git takes settings or programs from in the workspace, for each place of
// a repository. Settings that git can't read close the place: anything in it may be a program.
func (f *Finder) repositories(found *Found, places []place) {
	used := make(map[string]*settings)
	reader := &reader{Finder: f, found: found, used: used}
	for _, p := range places {
		dir, err := gitDir(p)
		if err != nil {
			reader.fail(p.top, err)
			continue
		}
		if dir == "" {
			continue
		}
		for _, file := range configsOf(dir) {
			reader.file(p.top, file, 0)
		}
	}
	all, err := f.globalSettings()
	for _, p := range append(slices.Clone(places), place{top: f.Root}) {
		if err != nil && p.git != "" {
			reader.fail(p.top, err)
		}
		for _, s := range all {
			reader.setting(p.top, "", s, 0)
		}
	}
	f.files = used
}

// gitDir returns the folder in which git keeps the repository of a place; "" means there is none.
func gitDir(p place) (string, error) {
	info, err := os.Stat(p.git)
	switch {
	case os.IsNotExist(err):
		return "", nil
	case err != nil:
		return "", err
	case info.IsDir():
		return filepath.EvalSymlinks(p.git)
	}
	text, err := boundedfile.Read(p.git, 64<<10)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir:")
	if !ok {
		return "", nil // git takes it for none
	}
	if dir = strings.TrimSpace(dir); !filepath.IsAbs(dir) {
		dir = filepath.Join(p.top, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if os.IsNotExist(err) {
		return "", nil
	}
	return real, err
}

// configsOf returns the files of settings of a repository's folder, with those of its submodules
// and of the repository that a worktree belongs to.
func configsOf(dir string) (files []string) {
	add := func(dir string) {
		files = append(files, filepath.Join(dir, "config"), filepath.Join(dir, "config.worktree"))
	}
	add(dir)
	if text, err := boundedfile.Read(filepath.Join(dir, "commondir"), 64<<10); err == nil {
		common := strings.TrimRight(string(text), "\r\n")
		if !filepath.IsAbs(common) {
			common = filepath.Join(dir, common)
		}
		add(common)
		dir = common
	}
	for _, below := range []string{"worktrees", "modules"} {
		left := 5000
		_ = filepath.WalkDir(filepath.Join(dir, below), func(path string, d os.DirEntry, err error) error {
			if left--; left < 0 {
				return filepath.SkipAll
			}
			if err == nil && d.IsDir() && slices.Contains([]string{"objects", "refs", "logs", "lfs"}, d.Name()) {
				return filepath.SkipDir
			}
			if err == nil && (d.Name() == "config" || d.Name() == "config.worktree") && !d.IsDir() {
				files = append(files, path)
			}
			return nil
		})
	}
	return files
}

// reader takes from settings what they name in the workspace.
type reader struct {
	*Finder
	found *Found
	used  map[string]*settings
}

// fail closes the part of the workspace that is a repository with unknown settings.
func (r *reader) fail(top string, err error) {
	if !within(r.Root, top) {
		top = r.Root
	}
	r.found.close(top, fmt.Sprintf("git can't say what it takes from there: %v", err))
}

// file reads a file of settings, and each one that it includes, under any condition.
func (r *reader) file(top, path string, depth int) {
	s := r.used[path]
	if s == nil {
		s = r.read(path)
		r.used[path] = s
	}
	if s.err != nil {
		r.fail(top, fmt.Errorf("%s: %w", path, s.err))
		return
	}
	for _, one := range s.all {
		r.setting(top, filepath.Dir(path), one, depth)
	}
}

// read has git read a file.
func (r *reader) read(path string) *settings {
	info, err := os.Stat(path)
	if os.IsNotExist(err) || isNoFolder(err) {
		return &settings{}
	}
	if err != nil {
		return &settings{err: err}
	}
	if !info.Mode().IsRegular() || info.Size() > maxSettings {
		return &settings{info: info, err: fmt.Errorf("its settings can't be read: it is no regular file, or has more than 4 MiB")}
	}
	if known := r.files[path]; known != nil && known.info != nil && fileinfo.Same(known.info, info) && time.Since(info.ModTime()) > settle {
		return known
	}
	all, err := ask("config", "--file", path, "--list", "-z", "--no-includes")
	return &settings{info, all, err}
}

// ask has git list settings, outside of any repository.
func ask(args ...string) ([]setting, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := worktree.Git(ctx, string(filepath.Separator), args...)
	if err != nil {
		return nil, err
	}
	var all []setting
	for field := range bytes.SplitSeq(out, []byte{0}) {
		if key, value, _ := strings.Cut(string(field), "\n"); key != "" {
			all = append(all, setting{key, value})
		}
	}
	return all, nil
}

// globalSettings returns the settings of the user and of the system. What one includes is an
// absolute path.
func (f *Finder) globalSettings() ([]setting, error) {
	if f.global.files != nil {
		same := true
		for path, was := range f.global.files {
			now, _ := os.Stat(path)
			same = same && (now == nil) == (was == nil) && (now == nil || fileinfo.Same(was, now))
		}
		if same {
			return f.global.all, f.global.err
		}
	}
	g := globals{files: make(map[string]os.FileInfo)}
	note := func(path string) { g.files[path], _ = os.Stat(path) }
	for _, path := range []string{".gitconfig", ".config/git/config"} {
		note(filepath.Join(f.Home, path))
	}
	note("/etc/gitconfig")
	listed, err := ask("config", "--list", "-z", "--show-origin", "--includes")
	g.err = err
	for i := 0; i+1 < len(listed); i++ { // an origin and a setting take turns
		origin, ok := strings.CutPrefix(listed[i].key, "file:")
		if !ok {
			continue
		}
		origin = f.expand(string(filepath.Separator), origin)
		note(origin)
		i++
		s := listed[i]
		if isInclude(s.key) {
			s.value = f.expand(filepath.Dir(origin), s.value)
		}
		g.all = append(g.all, s)
	}
	f.global = g
	return g.all, g.err
}

func isInclude(key string) bool {
	return key == "include.path" || strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path")
}

// expand returns the path that a setting names.
func (f *Finder) expand(base, value string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok && f.Home != "" {
		return filepath.Join(f.Home, rest)
	}
	if !filepath.IsAbs(value) {
		return filepath.Join(base, value)
	}
	return filepath.Clean(value)
}

// folderKeys are settings that name a folder of programs, or a file that git makes repositories by.
var folderKeys = []string{"core.hookspath", "init.templatedir"}

// setting notes what a setting names in the workspace. base is the folder of its file.
func (r *reader) setting(top, base string, s setting, depth int) {
	note := func(path string) {
		if path != r.Root && within(r.Root, path) && !inGit(r.Root, path) {
			r.found.Git = append(r.found.Git, path)
		}
	}
	switch {
	case isInclude(s.key):
		path := r.expand(base, s.value)
		note(path)
		if depth < maxIncludes {
			r.file(top, path, depth+1)
		}
		return
	case slices.Contains(folderKeys, s.key):
		path := r.expand(top, s.value)
		if path == r.Root {
			r.found.close(path, "git takes programs from it, by "+s.key)
		}
		note(path)
		return
	}
	command := isCommand(s.key)
	for word := range strings.FieldsFuncSeq(s.value, func(c rune) bool { return strings.ContainsRune(" \t\r\n\"';|&()!<>=`$", c) }) {
		path := r.expand(top, word)
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() || command && strings.Contains(word, "/") && (err != nil || !info.IsDir()) {
			note(path)
		}
	}
}

// commandEnds are the last parts of settings whose value is a command.
var commandEnds = []string{
	"fsmonitor", "sshcommand", "editor", "pager", "askpass", "gitproxy", "alternaterefscommand", "clean", "smudge", "process", "command", "textconv", "external",
	"driver", "cmd", "path", "helper", "program", "defaultkeycommand", "difffilter", "packobjectshook", "uploadpack", "receivepack", "vcs", "browser", "sendmailcmd",
	"tocmd", "cccmd", "proxyauthmethod",
}

// isCommand reports whether the value of a setting is a command, or names a program.
func isCommand(key string) bool {
	if strings.HasPrefix(key, "alias.") || strings.HasPrefix(key, "pager.") {
		return true
	}
	if strings.HasPrefix(key, "submodule.") {
		return false // its path is a folder of the repository
	}
	return slices.Contains(commandEnds, key[strings.LastIndex(key, ".")+1:])
}

// inGit reports whether path is in a repository's own folder, where other rules hold.
func inGit(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"), gitplace.IsDotGit)
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
