package definition

import (
	"github.com/agentworker/worker/agentdefs/internal/access"
	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
)

// parser holds the state of reading one file.
type parser struct {
	*access.Reader
	knownModel func(name string) bool
	knownSkill func(name string) bool
	maxSteps   int    // of an agent whose file does not say
	outside    bool   // as in [Options]
	called     string // as in [Options]
	key        string // the place of the agent in a file of several; empty for a file with one
	plugin     string // as in [Options]
	also       []agentfile.Entry
	open       OpenFunc

	resources []string // files that the agent is to read

	name, description agentfile.Entry
	access            access.Fields
	disabled          bool // the file switches its agent off
	noModelCall       bool // no model may call it
}

// Options says what the meaning of a file depends on beside its text.
type Options struct {
	Home       string                 // what "~/" and "$HOME/" mean in patterns
	Nesting    bool                   // no "task: deny" is added
	MaxSteps   int                    // of an agent whose file does not say; 0 means by its dialect
	KnownSkill func(name string) bool // whether there is a skill of this name; nil means any
	KnownModel func(name string) bool // whether a file may name this model or alias; nil means any
	Outside    bool                   // the file is the user's: what it runs needs nobody's trust
	Plugin     string                 // the plugin that has the file, whose name stands before the agent's; empty means none
	Open       OpenFunc               // reads a file that this one names; nil means that none is read
	Dialect    *dialect.Dialect       // the tool whose form the file has; nil means by its path

	called string            // what the agent is called where the file does not say; empty means as the file
	also   []agentfile.Entry // fields that count where the file does not have them
}

// OpenFunc reads a file that another one names by a path relative to its own folder. shown is its
// path as shown to people. The file's name ends in one of suffixes, also where a link leads.
type OpenFunc func(name string, suffixes []string) (data []byte, shown string, err error)
