package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentworker/worker/internal/disk"
)

// value is a setting that is neither a text, a number nor a time, as a [pflag.Value].
type value struct {
	kind   string // for help
	show   func() string
	set    func(text string) error
	env    func(text string) error                      // takes the variable; nil means as set
	config func(text json.RawMessage, dir string) error // takes what the config file in dir has; nil means a text, as set
	adds   bool                                         // the variable and the config file add to what a flag has set
}

func (v *value) String() string        { return v.show() }
func (v *value) Type() string          { return v.kind }
func (v *value) Set(text string) error { return v.set(text) }

// parsed returns a setting whose text parse reads, and which fmt prints.
func parsed[T any](to *T, kind string, parse func(text string) (T, error)) *value {
	return &value{kind: kind, show: func() string { return fmt.Sprint(*to) }, set: func(text string) error {
		v, err := parse(text)
		if err == nil {
			*to = v
		}
		return err
	}}
}

// texts returns a text of the config file, or a list of them.
func texts(raw json.RawMessage) ([]string, error) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var list []string
	return list, json.Unmarshal(raw, &list)
}

// modelList returns a setting that names a model, or several with commas between. In the config file
// it may be a list.
func modelList(to *string) *value {
	v := parsed(to, "string", func(text string) (string, error) { return text, nil })
	v.config = func(raw json.RawMessage, _ string) error {
		names, err := texts(raw)
		if err != nil {
			return errors.New("write a model, or a list of them")
		}
		*to = strings.Join(names, ",")
		return nil
	}
	return v
}

// below returns a path of the config file in dir as an absolute one; empty stays empty.
func below(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// file returns a setting that names a file. Its path is absolute: in the config file it is
// relative to that, elsewhere to the current folder.
func file(to *string) *value {
	set := func(path string) (err error) {
		if path == "" {
			return errors.New("a file without a name")
		}
		*to, err = filepath.Abs(path)
		return err
	}
	return &value{kind: "file", show: func() string { return *to }, set: set, config: func(raw json.RawMessage, dir string) error {
		var path string
		if json.Unmarshal(raw, &path) != nil {
			return errors.New("write the path of a file")
		}
		if path == "" {
			return nil
		}
		return set(below(dir, path))
	}}
}

// folders returns a setting that adds one folder at a time. Its variable is a list like PATH,
// and its key in the config file a text or a list, relative to that file.
func folders(show func() string, add func(text string) error) *value {
	addAll := func(list []string) (err error) {
		for _, text := range list {
			if err == nil {
				err = add(text)
			}
		}
		return err
	}
	return &value{
		kind: "folder", show: show, set: add,
		env: func(list string) error {
			return addAll(slices.DeleteFunc(filepath.SplitList(list), func(text string) bool { return text == "" }))
		},
		config: func(raw json.RawMessage, dir string) error {
			list, err := texts(raw)
			if err != nil {
				return errors.New("write a folder, or a list of them")
			}
			for i, text := range list {
				list[i] = below(dir, text)
			}
			return addAll(list)
		},
	}
}

// folder returns the absolute path of a folder that exists.
func folder(path string) (string, error) {
	if path == "" {
		return "", errors.New("a folder without a name")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := disk.Do(func() (os.FileInfo, error) { return os.Stat(abs) })
	switch {
	case err != nil:
		return "", fmt.Errorf("the folder can't be read: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("%s is not a folder", abs)
	}
	return abs, nil
}

// list returns a setting of names with commas between. It adds to what is set. usage is the
// error for a config file whose key has neither a text nor a list.
func list(to *[]string, kind, usage string, check func(name string) error) *value {
	set := func(text string) error {
		for name := range strings.SplitSeq(text, ",") {
			name = strings.TrimSpace(name)
			if name == "" {
				continue
			}
			if err := check(name); err != nil {
				return err
			}
			*to = append(*to, name)
		}
		return nil
	}
	return &value{kind: kind, show: func() string { return strings.Join(*to, ",") }, set: set, config: func(raw json.RawMessage, _ string) error {
		names, err := texts(raw)
		if err != nil {
			return errors.New(usage)
		}
		return set(strings.Join(names, ","))
	}}
}

// size is a number of bytes, written with K, M, G or T for powers of 1024.
type size uint64

const sizeUnits = "KMGT"

func sizeValue(to *size) *value { return parsed(to, "size", parseSize) }

func parseSize(text string) (size, error) {
	number, shift := strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(text)), "B"), 0
	if number != "" {
		if i := strings.IndexByte(sizeUnits, number[len(number)-1]); i >= 0 {
			number, shift = number[:len(number)-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(number, 10, 63)
	if err != nil || n<<shift>>shift != n {
		return 0, errors.New("not a size: write bytes, or 500M, 2G")
	}
	return size(n << shift), nil
}

// String returns the size in the largest unit that divides it.
func (s size) String() string {
	n, unit := uint64(s), ""
	for i := 0; i < len(sizeUnits) && n > 0 && n%1024 == 0; i++ {
		n, unit = n/1024, sizeUnits[i:i+1]
	}
	return strconv.FormatUint(n, 10) + unit
}
