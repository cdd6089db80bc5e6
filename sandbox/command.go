package sandbox

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrNotHeld is what Start returns where no sandbox can hold a command.
var ErrNotHeld = errors.New("no sandbox holds the command")

// Options configure a [Session]. The zero value is ready to use.
type Options struct {
	// Dir is the folder in which the session's own is made, which holds its
	// /tmp and copies. It should be on the file system of the caches, and no
	// command may see it. "": the system's folder for temporary files.
	Dir string

	Mode Mode // "": [Auto]

	// Network is asked about every connection to a host. nil means that there is
	// only loopback.
	Network NetworkFunc

	// Support is what the system offers; nil means [Detect].
	Support *Support
}

// NetworkFunc returns nil if a command may reach hostport. The command sees the error. It is
// asked about what the command names ("name:port"). For a name it is then asked about the name
// that it is an alias of, and about each address, with the name.
type NetworkFunc func(ctx context.Context, hostport, name string) error

// Command is what to run.
type Command struct {
	Profile *Profile // required
	Args    []string // the program, found in PATH of Env, and its arguments
	Dir     string   // "": the workspace
	Env     []string // see [Environ]

	// nil means empty input, output thrown away. They are the only descriptors that
	// the command gets.
	Stdin, Stdout, Stderr *os.File

	Terminal bool // Stdin is a terminal, which controls the command

	Limits Limits

	// Settle has git note anew what it tracks, some time after a moment. It is called where
	// git would else compare the content of a hidden file. nil means nobody does.
	Settle func(after time.Time)
}

// Limits are bounds for all that a command starts. 0 means the default.
type Limits struct {
	Processes int   // 4096; -1: as outside
	OpenFiles int   // as outside
	FileBytes int64 // as outside
}

// Start runs a command, and returns when it runs. When ctx ends, so does it.
func (s *Session) Start(ctx context.Context, cmd *Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if cmd.Profile == nil || cmd.Profile.layers == nil {
		return nil, errors.New("a command without a profile of NewProfile")
	}
	if cmd.Dir == "" {
		c := *cmd
		c.Dir = cmd.Profile.Workspace
		cmd = &c
	}
	p, err := s.start(cmd)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, p.Kill)
	return p, nil
}

// StartUnheld runs a command in no sandbox: it reaches whatever this process
// does, and its profile is not looked at. As with Start, it ends with ctx, with
// the session and with this process. So does all that it has started, also in
// other sessions and process groups. [ErrNotHeld]: not on this system.
func (s *Session) StartUnheld(ctx context.Context, cmd *Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, err := s.startUnheld(cmd)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, p.Kill)
	return p, nil
}

// stdio are the three descriptors of a command.
type stdio struct {
	files [3]*os.File
	null  *os.File
}

func (c *Command) stdio() (*stdio, error) {
	s := &stdio{files: [3]*os.File{c.Stdin, c.Stdout, c.Stderr}}
	for i, f := range s.files {
		if f != nil {
			continue
		}
		if s.null == nil {
			var err error
			if s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return nil, err
			}
		}
		s.files[i] = s.null
	}
	return s, nil
}

func (s *stdio) close() {
	if s.null != nil {
		s.null.Close()
	}
}
