package settings

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/sandbox"
)

// Sandbox says in what the commands of agents run.
type Sandbox struct {
	Mode    sandbox.Mode
	Folders []sandbox.Folder
	KeepEnv []string
}

func (s *Sandbox) register(flags *pflag.FlagSet) {
	s.Mode = sandbox.Auto
	mode := parsed(&s.Mode, "mode", sandbox.ParseMode)
	kept := list(&s.KeepEnv, "names", "write a list of names", checkKeptVariable)
	flags.Var(mode, "sandbox", "required: commands run in a sandbox or not at all; auto: where there is none, a person is asked about commands that rules restrict; off: none, the same is asked")
	flags.Var(folders(s.showFolders, s.addFolder), "sandbox-folder", "a folder outside of the workspace that commands see, as PATH, PATH=write or PATH=copy (a copy on write); can be given more than once")
	flags.Var(kept, "keep-env", "variables of the environment, with commas between, that commands get though they look like a key or a password")
}

func (s *Sandbox) showFolders() string {
	var texts []string
	for _, folder := range s.Folders {
		texts = append(texts, folder.Path+"="+string(folder.Access))
	}
	return strings.Join(texts, ",")
}

// addFolder adds a folder, with how commands may access it.
func (s *Sandbox) addFolder(text string) error {
	path, access := text, sandbox.Read
	if i := strings.LastIndex(text, "="); i >= 0 {
		path, access = text[:i], sandbox.Access(text[i+1:])
	}
	switch access {
	case sandbox.Read, sandbox.Write, sandbox.Copy:
	default:
		return fmt.Errorf("unknown access %q (use read, write or copy)", access)
	}
	path, err := folder(path)
	if err == nil {
		s.Folders = append(s.Folders, sandbox.Folder{Path: path, Access: access, Given: true})
	}
	return err
}

func checkKeptVariable(name string) error {
	switch {
	case strings.ContainsAny(name, "= *"):
		return fmt.Errorf("%q is not the name of a variable", name)
	case strings.HasPrefix(strings.ToUpper(name), "WORKER_"):
		return fmt.Errorf("%s is a setting of the worker, which no command gets", name)
	}
	return nil
}
