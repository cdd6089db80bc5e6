package stdio

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/gitplace"
	"github.com/agentworker/worker/sandbox"
)

// Folders are the folders of a program itself: where it lies, or the script that an interpreter
// is given first. Of a package of npm that is all of its node_modules, and of a virtual
// environment of Python all of that.
//
// written are the folders in which commands write: a path there shows nothing more. Of
// a folder in which credentials may lie only the program is shown, if it can be executed.
func Folders(home string, written []string, command string, args, env []string) (folders []string) {
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
		word = filepath.Clean(word)
		real, err := sandbox.RealPath(word, written)
		if err != nil {
			continue
		}
		info, err := os.Stat(real)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		for _, name := range []string{word, real} {
			if slices.ContainsFunc(written, func(dir string) bool { return gitplace.Within(dir, name) }) {
				continue
			}
			shown := folderOf(home, name)
			if shown == "" && info.Mode()&0o111 != 0 && !isPrivate(name) {
				shown = name
			}
			if shown != "" && !slices.Contains(folders, shown) && !slices.Contains(systemFolders, shown) {
				folders = append(folders, shown)
			}
		}
	}
	return folders
}

// folderOf returns the folder that belongs to a program; "" is one in which there may be credentials.
func folderOf(home, program string) string {
	dir := filepath.Dir(program)
	if before, _, ok := strings.Cut(dir+"/", "/node_modules/"); ok {
		return before + "/node_modules"
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "pyvenv.cfg")); err == nil {
		return filepath.Dir(dir)
	}
	switch {
	case home != "" && gitplace.Within(dir, home), dir == "/":
		return ""
	case slices.ContainsFunc(sandbox.DefaultFolders(home), func(f sandbox.Folder) bool { return gitplace.Within(f.Path, dir) }):
		return dir
	case isPrivate(dir), home != "" && gitplace.Within(filepath.Join(home, "Library"), dir):
		return ""
	case strings.Contains(dir, "/.") && filepath.Base(dir) != "bin": // as ~/.ssh
		return ""
	}
	return dir
}

// private are folders of the system in which there are credentials, or more than programs.
var private = []string{"/etc", "/private/etc", "/proc", "/sys", "/dev", "/run", "/var/run"}

func isPrivate(path string) bool {
	return slices.ContainsFunc(private, func(dir string) bool { return gitplace.Within(dir, path) })
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
