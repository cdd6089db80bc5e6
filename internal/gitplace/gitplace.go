// Package gitplace knows by which names git finds a repository, its settings and its programs.
//
// The judge of commands and the file tools ask it alike. Names are compared as a file system may
// that takes them in any case.
package gitplace

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// IsDotGit reports whether some file system takes name for ".git".
func IsDotGit(name string) bool {
	if name == "" || name[0] < 0x80 && name[0] != '.' && name[0]|0x20 != 'g' { // most names, quickly
		return false
	}
	name, _, _ = strings.Cut(visible(name), ":") // a stream of NTFS
	name = strings.TrimRight(name, " .")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// SameName reports whether some file system takes name for want, by its case and characters that
// are not seen.
func SameName(name, want string) bool { return strings.EqualFold(visible(name), visible(want)) }

// visible returns name without the characters that file systems with Unicode names leave out of
// comparisons.
func visible(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r >= 0x80 }) < 0 {
		return name
	}
	return strings.Map(func(r rune) rune {
		if r >= 0x80 && (unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)) {
			return -1
		}
		return r
	}, name)
}

// parts are the names by which git takes a folder for a repository.
var parts = []string{"HEAD", "objects", "refs", "commondir"}

// Completes reports whether a new name at abs makes its folder one that git takes for a
// repository: HEAD, and objects with refs or a commondir.
func Completes(abs string) bool {
	dir, name := filepath.Split(abs)
	return slices.ContainsFunc(parts, func(part string) bool { return SameName(name, part) }) && complete(dir, name)
}

// IsRepository reports whether git may take the folder dir for a repository without files.
func IsRepository(dir string) bool { return complete(dir, "") }

func complete(dir, name string) bool {
	has := func(part string) bool {
		if SameName(name, part) {
			return true
		}
		_, err := os.Lstat(filepath.Join(dir, part))
		return err == nil || os.IsPermission(err) // what can't be looked at may be there
	}
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// Controls reports whether a path in a repository's folder is one by which git runs programs, or
// finds another folder to look for them.
func Controls(inner string) bool {
	first, rest, _ := strings.Cut(inner, "/")
	for _, name := range []string{"config", "config.worktree", "hooks", "commondir", "gitdir"} {
		if SameName(first, name) {
			return true
		}
	}
	switch {
	case SameName(first, "worktrees"):
		_, rest, _ = strings.Cut(rest, "/")
		return rest != "" && Controls(rest)
	case SameName(first, "modules"):
		for part := range strings.SplitSeq(rest, "/") {
			if !SameName(part, "modules") && Controls(part) {
				return true
			}
		}
	}
	return false
}

// What Refused says.
const (
	OwnRepository = "a repository of its own decides which programs git runs: none is made, moved or written in the workspace"
	Completed     = "git would take its folder for a repository, whose settings decide which programs git runs"
	Settings      = "git's settings and hooks are never writable"
)

// Refused returns why no tool may write the file at rel, slash-separated and without links, below
// root, nor make the folders that it lacks. An empty reason means that git finds nothing there.
func Refused(root, rel string) (why string) {
	at, repository := root, ""
	for name := range strings.SplitSeq(path.Clean(rel), "/") {
		if IsDotGit(name) {
			return OwnRepository
		}
		if repository == "" && IsRepository(at) {
			repository = at
		}
		at = filepath.Join(at, name)
		if repository != "" {
			continue
		}
		if _, err := os.Lstat(at); err != nil && Completes(at) {
			return Completed
		}
	}
	if repository == "" {
		return ""
	}
	inner, err := filepath.Rel(repository, at)
	if err != nil || Controls(filepath.ToSlash(inner)) {
		return Settings
	}
	return ""
}

// Within reports whether some file system takes path for dir, or for something below it.
func Within(dir, path string) bool {
	for dir != "" {
		var want, name string
		want, dir, _ = strings.Cut(dir, "/")
		if want == "" {
			path = strings.TrimLeft(path, "/")
			continue
		}
		name, path, _ = strings.Cut(strings.TrimLeft(path, "/"), "/")
		if name != want && !SameName(name, want) {
			return false
		}
	}
	return true
}

// EndsIn reports whether some file system takes the end of rel for tail.
func EndsIn(tail, rel string) bool {
	for {
		if strings.Count(rel, "/") == strings.Count(tail, "/") {
			return Within(tail, rel)
		}
		var ok bool
		if _, rel, ok = strings.Cut(rel, "/"); !ok {
			return false
		}
	}
}

// Below reports whether some file system takes rel for a path that ends in tail, or for one
// below that.
func Below(tail, rel string) bool {
	for {
		if (rel != "" && (rel[0] == tail[0] || rel[0] >= 0x80)) && Within(tail, rel) {
			return true
		}
		var ok bool
		if _, rel, ok = strings.Cut(rel, "/"); !ok {
			return false
		}
	}
}
