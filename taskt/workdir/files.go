package workdir

import (
	"errors"
	"fmt"
	"os"

	"github.com/agentworker/worker/internal/fileinfo"
)

// Files says which files a workspace has: those of a folder on a machine. Workers of one workspace
// may run on several machines, each with a folder of its own.
type Files struct {
	Host   string `json:"host"`
	Root   string `json:"root"`             // the path of the folder there
	ID     string `json:"id,omitempty"`     // of the folder, as [fileinfo.ID]; empty means that the system does not tell
	Local  bool   `json:"local,omitempty"`  // all workers of the workspace are on this machine, whatever its name
	Shared bool   `json:"shared,omitempty"` // a person says that all workers of the workspace have the same
}

// FilesOf returns which files the folder root has. local and shared are as in [Files].
func FilesOf(root string, local, shared bool) Files {
	f := Files{Root: root, Local: local, Shared: shared}
	f.Host, _ = os.Hostname() // without one the machine is not known to be another one's
	if dir, err := os.Open(root); err == nil {
		f.ID = fileinfo.ID(dir)
		_ = dir.Close() // it was only read
	}
	return f
}

// Same returns nil if other are the same files, else an error that says whose they are.
func (f Files) Same(other Files) error {
	local := f.Local && other.Local
	switch {
	case f.Root == "":
		return errors.New("its log does not say where its files are")
	case f.Shared && other.Shared:
	case f.Root != other.Root || !local && (f.Host == "" || f.Host != other.Host):
		return fmt.Errorf("its files are those of %s on %s, and this worker's are those of %s on %s (--shared-files says that all workers of a workspace have the same)", f.Root, f.Host, other.Root, other.Host)
	case f.ID != other.ID || f.ID == "" && !local:
		return fmt.Errorf("the folder %s is not the one that it worked in", f.Root)
	}
	return nil
}
