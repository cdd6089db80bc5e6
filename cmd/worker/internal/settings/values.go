package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/disk"
)

// folders is a flag that names folders, one at a time. They are absolute; what
// is relative on the command line and in the environment is so to the current
// folder.
type folders []string

// String implements [pflag.Value].
func (f *folders) String() string { return strings.Join(*f, string(os.PathListSeparator)) }

// Type implements [pflag.Value].
func (f *folders) Type() string { return "folder" }

// Set implements [pflag.Value].
func (f *folders) Set(path string) error {
	if path == "" {
		return errors.New("a folder without a name")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	info, err := disk.Do(func() (os.FileInfo, error) { return os.Stat(abs) })
	switch {
	case err != nil:
		return fmt.Errorf("the folder can't be read: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", abs)
	}
	*f = append(*f, abs)
	return nil
}

// setEnv takes a list like that of PATH.
func (f *folders) setEnv(list string) error {
	for _, path := range filepath.SplitList(list) {
		if path == "" {
			continue
		}
		if err := f.Set(path); err != nil {
			return err
		}
	}
	return nil
}

// setConfig takes a text or a list of texts; relative folders are below dir.
func (f *folders) setConfig(value json.RawMessage, dir string) error {
	var paths []string
	var one string
	if json.Unmarshal(value, &one) == nil {
		paths = []string{one}
	} else if json.Unmarshal(value, &paths) != nil {
		return errors.New("write a folder, or a list of them")
	}
	for _, path := range paths {
		if path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if err := f.Set(path); err != nil {
			return err
		}
	}
	return nil
}

// sources is a flag that names tools whose folders of agent files are read too,
// with commas between.
type sources []string

// String implements [pflag.Value].
func (s *sources) String() string { return strings.Join(*s, ",") }

// Type implements [pflag.Value].
func (s *sources) Type() string { return "list" }

// Set implements [pflag.Value]. It adds to what is set.
func (s *sources) Set(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
		case name != "all" && !slices.Contains(agentdefs.Sources(), name):
			return fmt.Errorf("unknown source %q (use all, or some of %s)", name, strings.Join(agentdefs.Sources(), ", "))
		default:
			*s = append(*s, name)
		}
	}
	return nil
}

// setConfig takes a text or a list of texts.
func (s *sources) setConfig(value json.RawMessage, _ string) error {
	var names []string
	var one string
	if json.Unmarshal(value, &one) == nil {
		names = []string{one}
	} else if json.Unmarshal(value, &names) != nil {
		return errors.New("write a list of names, or all")
	}
	return s.Set(strings.Join(names, ","))
}

// names is a flag that names variables of the environment, with commas between.
type names []string

// String implements [pflag.Value].
func (n *names) String() string { return strings.Join(*n, ",") }

// Type implements [pflag.Value].
func (n *names) Type() string { return "names" }

// Set implements [pflag.Value]. It adds to what is set.
func (n *names) Set(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
		case strings.ContainsAny(name, "= *"):
			return fmt.Errorf("%q is not the name of a variable", name)
		case strings.HasPrefix(strings.ToUpper(name), "WORKER_"):
			return fmt.Errorf("%s is a setting of the worker, which no command gets", name)
		default:
			*n = append(*n, name)
		}
	}
	return nil
}

// setConfig takes a text or a list of texts.
func (n *names) setConfig(value json.RawMessage, _ string) error {
	var list []string
	var one string
	if json.Unmarshal(value, &one) == nil {
		list = []string{one}
	} else if json.Unmarshal(value, &list) != nil {
		return errors.New("write a list of names")
	}
	return n.Set(strings.Join(list, ","))
}

// file is a flag that names a file. It is absolute; what is relative on the
// command line and in the environment is so to the current folder.
type file string

// String implements [pflag.Value].
func (f *file) String() string { return string(*f) }

// Type implements [pflag.Value].
func (f *file) Type() string { return "file" }

// Set implements [pflag.Value].
func (f *file) Set(path string) error {
	if path == "" {
		return errors.New("a file without a name")
	}
	abs, err := filepath.Abs(path)
	*f = file(abs)
	return err
}

// setConfig takes a text; a relative path is below dir.
func (f *file) setConfig(value json.RawMessage, dir string) error {
	var path string
	if json.Unmarshal(value, &path) != nil {
		return errors.New("write the path of a file")
	}
	if path == "" {
		return nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return f.Set(path)
}
