package workdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/glob"
)

// resolve returns the path below root of a file that must exist, its links resolved. named is
// absolute, or relative to the folder from below root. field is for errors.
func resolve(field, root, from, named string) (rel string, info os.FileInfo, err error) {
	abs := named
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(root, from, named)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", field, err)
	}
	rel, err = filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", nil, fmt.Errorf("%s %q is outside of the workspace %s", field, named, root)
	}
	info, err = os.Stat(real)
	return filepath.ToSlash(rel), info, err
}

// Folder returns the path below root of the folder that a call names (cwd), its links
// resolved. outer is the folder that the caller is held to; empty means none.
func Folder(root, outer, cwd string) (string, error) {
	rel, info, err := resolve("cwd", root, outer, cwd)
	switch {
	case rel == "":
		return "", err
	case outer != "" && rel != outer && !strings.HasPrefix(rel, outer+"/"):
		return "", fmt.Errorf("cwd %q is outside of the folder %s, which you are held to", cwd, outer)
	case err != nil || !info.IsDir():
		return "", errors.Join(fmt.Errorf("cwd %q is no folder", cwd), err)
	}
	return rel, nil
}

// ResidentFile returns the path below root of a file that a call or an agent names, its links
// resolved. Whether it may be read is decided when it is.
func ResidentFile(root, named string) (string, error) {
	if named == "" {
		return "", nil
	}
	rel, info, err := resolve("residentFile", root, "", named)
	switch {
	case rel == "":
		return "", err
	case err != nil || !info.Mode().IsRegular():
		return "", errors.Join(fmt.Errorf("residentFile %q is no regular file", named), err)
	}
	return rel, nil
}

// FolderRules deny all files of the workspace outside of a folder. The folders above it may
// be listed, as far as they lead there.
func FolderRules(folder string) []permission.Rule {
	free := []string{"/**", ".", glob.Quote(folder), glob.Quote(folder) + "/**"}
	for above := path.Dir(folder); above != "."; above = path.Dir(above) {
		free = append(free, glob.Quote(above))
	}
	return denyOutside(free, "cwd of the call", toolcatalog.ReadFile, toolcatalog.WriteFile, toolcatalog.EditFile)
}

// denyOutside are the rules that deny some tools every path that matches none of the patterns.
func denyOutside(free []string, source string, tools ...string) []permission.Rule {
	var rules []permission.Rule
	for _, tool := range tools {
		rules = append(rules, permission.Rule{
			Tool: tool, Pattern: "!(" + strings.Join(free, "|") + ")", Action: permission.Deny, Source: permission.Source{File: source},
		})
	}
	return rules
}

// WriteRoots returns the absolute paths of the folders that a call names, and the rules that
// hold a session's writing to them. A folder need not exist. folder is the one below root that
// the session is held to.
func WriteRoots(root, folder string, named []string) (roots []string, rules []permission.Rule, err error) {
	free := []string{"/**"} // what is outside of the workspace
	for _, name := range named {
		rel, err := writeRoot(root, folder, name)
		if err != nil {
			return nil, nil, err
		}
		roots = append(roots, filepath.Join(root, rel))
		if rel == "." {
			free = append(free, "**")
		} else {
			free = append(free, glob.Quote(rel), glob.Quote(rel)+"/**")
		}
	}
	return roots, denyOutside(free, "writeRoots of the call", toolcatalog.WriteFile, toolcatalog.EditFile), nil
}

// writeRoot returns the path below root of one folder. The links in the part of it that exists
// are resolved.
func writeRoot(root, folder, named string) (string, error) {
	if strings.TrimSpace(named) == "" {
		return "", errors.New("writeRoots: a folder is empty")
	}
	abs := named
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(root, folder, named)
	}
	real, missing := filepath.Clean(abs), ""
	for {
		found, err := filepath.EvalSymlinks(real)
		if err == nil {
			real = filepath.Join(found, missing)
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(real) == real {
			return "", fmt.Errorf("writeRoots: %w", err)
		}
		real, missing = filepath.Dir(real), filepath.Join(filepath.Base(real), missing)
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("writeRoots: %q is outside of the workspace %s", termtext.CutBytes(named, 200), root)
	}
	return filepath.ToSlash(rel), nil
}
