package stdio

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folders are the folders of a program itself: where it lies, or the script that an interpreter
// is given first. Of a package of npm that is all of its node_modules, and of a virtual
// environment of Python all of that.
func Folders(command string, args, env []string) (folders []string) {
	for i, word := range append([]string{LookPath(command, env)}, args...) {
		if i > 0 && strings.HasPrefix(word, "-") {
			continue
		}
		if i > 1 {
			break
		}
		if !filepath.IsAbs(word) {
			continue
		}
		info, err := os.Stat(word)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		names := []string{word}
		if real, err := filepath.EvalSymlinks(word); err == nil && real != word {
			names = append(names, real)
		}
		for _, name := range names {
			dir := filepath.Dir(name)
			if before, _, ok := strings.Cut(dir+"/", "/node_modules/"); ok {
				dir = before + "/node_modules"
			} else if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "pyvenv.cfg")); err == nil {
				dir = filepath.Dir(dir)
			}
			if !slices.Contains(folders, dir) && !slices.Contains(systemFolders, dir) {
				folders = append(folders, dir)
			}
		}
	}
	return folders
}

// systemFolders are shown to all commands.
var systemFolders = []string{"/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"}

// LookPath returns the path of a program by the PATH of env. A name with a slash is a path. Of a
// program that is not there it returns the name.
func LookPath(name string, env []string) string {
	if strings.ContainsRune(name, filepath.Separator) {
		return name
	}
	for _, e := range env {
		list, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			at := filepath.Join(dir, name)
			if info, err := os.Stat(at); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return at
			}
		}
	}
	return name
}
