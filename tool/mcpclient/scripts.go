package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/mcpconfig"
)

// scripts returns the files below root that a server runs, sorted: those that its headersHelper, or its
// program and arguments name. They are found as those of hooks are. An argument may be a command line itself.
func (t *Trust) scripts(s *mcpconfig.Server, root string) []string {
	if expanded, err := s.Expand(t.lookup); err == nil {
		s = expanded
	}
	if s.Transport != mcpconfig.Stdio {
		if s.HeadersHelper == "" {
			return nil
		}
		return (&hookconfig.Hook{Command: s.HeadersHelper}).Scripts(root)
	}
	cwd := s.Cwd
	if rel, err := filepath.Rel(root, cwd); filepath.IsAbs(cwd) && err == nil {
		cwd = rel
	}
	found := (&hookconfig.Hook{Command: s.Command, Args: s.Args, Exec: true, Cwd: cwd}).Scripts(root)
	for _, arg := range s.Args {
		found = append(found, (&hookconfig.Hook{Command: arg, Cwd: cwd}).Scripts(root)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Protected returns the files of the workspace that agents must not write, since a server runs them with
// more than agents have: scripts of its headersHelper, which runs outside of the sandbox, and those of a
// program to which the trust gives more.
func (t *Trust) Protected(s *mcpconfig.Server) []string {
	all, _ := t.file.Read() // a file that can't be read gives nothing
	if s.Transport == mcpconfig.Stdio && !all[s.Hash()].more() && len(s.Reaches) == 0 {
		return nil
	}
	return t.scripts(s, t.root)
}

// more reports whether the trust gives a program more than its session has.
func (t Trusted) more() bool { return t.Allow || len(t.Hosts)+len(t.Read)+len(t.Write) > 0 }

// files returns the hashes of the files below root that are part of what is said of a server, by their
// paths there.
func (t *Trust) files(s *mcpconfig.Server, said Trusted, root string) (map[string]string, error) {
	if s.Transport == mcpconfig.Stdio && !said.more() {
		return nil, nil
	}
	var files map[string]string
	for _, path := range t.scripts(s, root) {
		name, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		if files == nil {
			files = map[string]string{}
		}
		if files[name], err = digest(path); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// changed returns what is no longer as it was when a person trusted the server; empty means that nothing
// is. The files are those below root, which is the workspace or a worktree of it.
func (t *Trust) changed(s *mcpconfig.Server, said Trusted, root string) string {
	files, err := t.files(s, said, root)
	if err != nil {
		return err.Error()
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if said.Files[name] != files[name] {
			return name + ", which it runs, is no longer what you have trusted"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(said.Files)) {
		if files[name] == "" {
			return name + ", which it runs, is no longer there"
		}
	}
	return ""
}

// maxScript bounds a file that a server runs, in bytes.
const maxScript = 128 << 20

// digest returns the hash of a file.
func digest(path string) (string, error) {
	f, err := boundedfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, maxScript+1))
	if err == nil && n > maxScript {
		err = fmt.Errorf("%s: more than %d MiB can't be part of what is trusted", path, maxScript>>20)
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}
