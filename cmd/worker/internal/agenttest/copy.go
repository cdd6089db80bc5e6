package agenttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/worktree"
)

// What a copy of a workspace has at most.
const (
	maxFiles = 50_000
	maxBytes = 512 << 20
)

// copyTree copies the files of a folder: all that git has or does not ignore; without git
// all. Links are copied if they stay in the folder. .git is not copied.
func copyTree(ctx context.Context, from, to string) error {
	names, err := listed(ctx, from)
	if err != nil {
		return err
	}
	left := int64(maxBytes)
	if len(names) > maxFiles {
		return fmt.Errorf("%s has %d files, and a copy has %d at most: name a smaller folder as workspace", from, len(names), maxFiles)
	}
	src, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer dst.Close()
	for _, name := range names {
		n, err := copyFile(src, dst, name, left)
		if err != nil {
			return fmt.Errorf("copying %s: %w", filepath.Join(from, name), err)
		}
		if left -= n; left <= 0 {
			return fmt.Errorf("%s has more than %d MiB: name a smaller folder as workspace", from, maxBytes>>20)
		}
	}
	return nil
}

// listed returns the files of a folder, relative to it.
func listed(ctx context.Context, dir string) ([]string, error) {
	if out, err := worktree.Git(ctx, dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard"); err == nil && len(out) > 0 {
		var names []string
		for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
			names = append(names, filepath.FromSlash(string(name)))
		}
		return names, nil
	}
	var names []string // not in a repository, or without git
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" && path != dir {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.IsDir() {
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// copyFile copies a file, and returns its size.
func copyFile(src, dst *os.Root, name string, most int64) (int64, error) {
	info, err := src.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) { // removed, and git still has it
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := dst.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return 0, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := src.Readlink(name)
		if err != nil || filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.Dir(name), target)) {
			return 0, err
		}
		return 0, dst.Symlink(target, name)
	}
	if !info.Mode().IsRegular() {
		return 0, nil
	}
	in, err := src.Open(name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := dst.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, info.Mode().Perm()|0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, most))
	return n, errors.Join(err, out.Close())
}

// write writes the files that a case adds.
func (c *Case) write(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, content := range c.Files {
		name = filepath.FromSlash(name)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(name, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// rules returns the rules of a case as permissions.jsonc has them, in their order; nil means
// it has none.
func (c *Case) rules() ([]byte, error) {
	if c.Rules.line == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	err := ordered(&b, &c.Rules.V)
	return b.Bytes(), err
}

// ordered writes a value of YAML as JSON, with its keys in their order.
func ordered(b *bytes.Buffer, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		v, err := plain(n)
		if err != nil {
			return err
		}
		data, err := json.Marshal(v)
		b.Write(data)
		return err
	}
	b.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(n.Content[i].Value)
		if err != nil {
			return err
		}
		b.Write(append(key, ':'))
		if err := ordered(b, n.Content[i+1]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// hashes returns the hash of each file of a folder, by its path with slashes.
func hashes(dir string) (map[string]string, error) {
	all := make(map[string]string)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		sum := sha256.New()
		if d.Type().IsRegular() {
			f, err := boundedfile.OpenIn(root, name)
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err := io.Copy(sum, f); err != nil {
				return err
			}
		} else if target, err := root.Readlink(name); err == nil {
			io.WriteString(sum, "link "+target)
		}
		all[name] = string(sum.Sum(nil))
		return nil
	})
	return all, err
}

// changed returns the files in which two folders differ, by their hashes.
func changed(before, after map[string]string) []string {
	var names []string
	for name, hash := range after {
		if before[name] != hash {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, ".git/") })
}
