package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/sandbox"
)

// Sandbox says in what the commands of agents run.
type Sandbox struct {
	Mode    sandbox.Mode
	Folders sandboxFolders
	KeepEnv names
}

func (s *Sandbox) register(flags *pflag.FlagSet) {
	s.Mode = sandbox.Auto
	flags.Var((*sandboxMode)(&s.Mode), "sandbox", "required: commands run in a sandbox or not at all; auto: where there is none, a person is asked about commands that rules restrict; off: none, the same is asked")
	flags.Var(&s.Folders, "sandbox-folder", "a folder outside of the workspace that commands see, as PATH, PATH=write or PATH=copy (a copy on write); can be given more than once")
	flags.Var(&s.KeepEnv, "keep-env", "variables of the environment, with commas between, that commands get though they look like a key or a password")
}

// sandboxMode is a flag.
type sandboxMode sandbox.Mode

// String implements [pflag.Value].
func (m *sandboxMode) String() string { return string(*m) }

// Type implements [pflag.Value].
func (m *sandboxMode) Type() string { return "mode" }

// Set implements [pflag.Value].
func (m *sandboxMode) Set(text string) error {
	mode, err := sandbox.ParseMode(text)
	if err == nil {
		*m = sandboxMode(mode)
	}
	return err
}

// sandboxFolders is a flag that names a folder at a time, with what may be done
// in it.
type sandboxFolders []sandbox.Folder

// String implements [pflag.Value].
func (f *sandboxFolders) String() string {
	var texts []string
	for _, folder := range *f {
		texts = append(texts, folder.Path+"="+string(folder.Access))
	}
	return strings.Join(texts, ",")
}

// Type implements [pflag.Value].
func (f *sandboxFolders) Type() string { return "folder" }

// Set implements [pflag.Value].
func (f *sandboxFolders) Set(text string) error {
	path, access := text, sandbox.Read
	if i := strings.LastIndex(text, "="); i >= 0 {
		path, access = text[:i], sandbox.Access(text[i+1:])
	}
	switch access {
	case sandbox.Read, sandbox.Write, sandbox.Copy:
	default:
		return fmt.Errorf("unknown access %q (use read, write or copy)", access)
	}
	var checked folders
	if err := checked.Set(path); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(checked[0])
	if err != nil {
		return err
	}
	*f = append(*f, sandbox.Folder{Path: real, Access: access})
	return nil
}

// setEnv takes a list like that of PATH.
func (f *sandboxFolders) setEnv(list string) error {
	for _, text := range filepath.SplitList(list) {
		if text == "" {
			continue
		}
		if err := f.Set(text); err != nil {
			return err
		}
	}
	return nil
}

// setConfig takes a text or a list of texts; relative folders are below dir.
func (f *sandboxFolders) setConfig(value json.RawMessage, dir string) error {
	var texts []string
	var one string
	if json.Unmarshal(value, &one) == nil {
		texts = []string{one}
	} else if json.Unmarshal(value, &texts) != nil {
		return errors.New("write a folder, or a list of them")
	}
	for _, text := range texts {
		if text != "" && !filepath.IsAbs(text) {
			text = filepath.Join(dir, text)
		}
		if err := f.Set(text); err != nil {
			return err
		}
	}
	return nil
}
