package gitplace

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// GitDirs returns the repository's folders outside of the workspace, where its
// .git is a file that names them, as in a worktree and a submodule. A folder
// counts only if it names the workspace in turn: else an author of that file
// could be shown any folder.
func GitDirs(workspace string) []string {
	dir, ok := strings.CutPrefix(firstLine(filepath.Join(workspace, ".git")), "gitdir: ")
	if !ok {
		return nil
	}
	dir, ok = realDir(workspace, dir)
	if !ok || !hasHead(dir) {
		return nil
	}
	if back := firstLine(filepath.Join(dir, "gitdir")); back != "" { // a worktree
		common, ok := realDir(dir, firstLine(filepath.Join(dir, "commondir")))
		real, err := filepath.EvalSymlinks(filepath.Dir(back))
		if !ok || err != nil || real != workspace || !hasHead(common) || filepath.Dir(filepath.Dir(dir)) != common {
			return nil
		}
		return []string{common}
	}
	// A submodule lies in the repository above, which has it in a folder around
	// the workspace.
	outer, _, ok := strings.Cut(dir, "/.git/modules/")
	if !ok || !(workspace == outer || strings.HasPrefix(workspace, outer+"/")) {
		return nil
	}
	return []string{dir}
}

// firstLine returns the first line of a small file; "" if there is none.
func firstLine(path string) string {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 8<<10))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimRight(line, "\r ")
}

// realDir returns the folder that path names from base on.
func realDir(base, path string) (string, bool) {
	if path == "" {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	real, err := filepath.EvalSymlinks(path)
	return real, err == nil
}

// hasHead reports whether dir is a folder in which git keeps a repository,
// or a worktree.
func hasHead(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil && info.Mode().IsRegular()
}
