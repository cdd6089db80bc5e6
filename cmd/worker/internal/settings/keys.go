package settings

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/internal/ownpath"
	"github.com/agentworker/worker/internal/procgroup"
	"github.com/agentworker/worker/model/provider"
)

const (
	// maxKeyBytes bounds the key in a file, or in the output of a command.
	maxKeyBytes = 16 << 10

	// keyCommandTimeout is how long a key command may take.
	keyCommandTimeout = 15 * time.Second

	// keyAge is how long the output of a key command is used as the key.
	keyAge = 5 * time.Minute
)

// Provider is a server of models: its address, how it is reached, and where its API key comes
// from. Each has a setting, because hosts pass few variables to the programs that they start.
type Provider struct {
	provider.Row
	keyFile    string
	command    string
	baseURL    string
	connection provider.Connection
	configured bool // the setting "providers" has its address
	typed      bool // Form is what the setting says

	headersCommand *keptOutput[map[string]string] // prints headers; nil means there is none
	models         []string                       // that the setting names
	timeouts       timeouts

	agent       string // whose key it is; empty means that of all agents without one
	keyVariable string // that holds it; empty means the row's
	wrong       error  // with the setting; set only for an agent's own key

	listed func() string // the first model of the server; nil means not asked yet

	mu     sync.Mutex
	keyOut *keptOutput[string] // of the command; nil means that it has not run
}

// Provider returns the settings of a provider; nil means there is none of that name.
func (s *Settings) Provider(name string) *Provider {
	for _, p := range s.Providers {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// HasProvider reports whether there is a provider of a name.
func (s *Settings) HasProvider(name string) bool { return s.Provider(name) != nil }

// withFlags are the providers whose settings have flags of their own. Those of the others are in
// their variables and in the setting "providers".
var withFlags = []string{"anthropic", "openai"}

// registerProviders registers the flags that say how to get at models.
func (s *Settings) registerProviders(flags *pflag.FlagSet) {
	s.Providers = nil
	for _, row := range provider.Rows {
		s.Providers = append(s.Providers, &Provider{Row: row})
	}
	for _, name := range withFlags {
		p := s.Provider(name)
		flags.Var(file(&p.keyFile), name+"-api-key-file", "file that holds the API key, readable by you alone (default: "+p.KeyVariable()+")")
		flags.StringVar(&p.command, name+"-api-key-command", "", "shell command that prints the API key (default: "+p.KeyVariable()+")")
		flags.StringVar(&p.baseURL, name+"-base-url", "", "address of the API (default: "+p.BaseVariable()+", else the provider's own)")
	}
	flags.Var(s.providersValue(), "providers", "further providers, and how to reach those that are known, as a JSON object by their names (docs/guide/models.md)")
}

// rivals returns the flags that set the same thing as name, itself among them. variable is
// the provider's own variable that does so, too.
func (s *Settings) rivals(name string) (flags []string, variable string) {
	for _, own := range withFlags {
		p := s.Provider(own)
		keys := []string{own + "-api-key-file", own + "-api-key-command"}
		switch name {
		case keys[0], keys[1]:
			return keys, p.KeyVariable()
		case own + "-base-url":
			return []string{name}, p.BaseVariable()
		}
	}
	return []string{name}, ""
}

// checkProviders returns an error for settings that do not go together.
func (s *Settings) checkProviders() error {
	if s.wrongProviders != nil {
		return fmt.Errorf("providers: %w", s.wrongProviders)
	}
	for _, p := range s.Providers {
		if p.keyFile != "" && p.command != "" {
			return fmt.Errorf("%s-api-key-file and %s-api-key-command are both given: one of them has the key", p.Name, p.Name)
		}
	}
	return nil
}

// KeyFiles returns the files that hold keys: of APIs, of a user of the NATS server, and of the door with TLS.
func (s *Settings) KeyFiles() []string {
	files := slices.DeleteFunc([]string{s.Access.Creds, s.Access.NKey, s.Access.TokenFile, s.Access.Key, s.DoorKey}, func(path string) bool { return path == "" })
	for _, p := range s.Providers {
		if p.keyFile != "" {
			files = append(files, p.keyFile)
		}
		if p.connection.KeyFile != "" {
			files = append(files, p.connection.KeyFile)
		}
	}
	for _, p := range s.AgentKeys {
		if p.keyFile != "" {
			files = append(files, p.keyFile)
		}
	}
	return files
}

// OwnBase returns the address that a setting or a variable has; empty means none has.
func (p *Provider) OwnBase(getenv func(string) string) string {
	return cmp.Or(p.baseURL, getenv(p.BaseVariable()))
}

// BaseURL returns the address of the API; empty means that it has to be set.
func (p *Provider) BaseURL(getenv func(string) string) string {
	return cmp.Or(p.OwnBase(getenv), p.Base)
}

// Client returns the HTTP client for the provider, with the key of keyed where a command prints it.
func (p *Provider) Client(keyed *Provider, by Caller) (*http.Client, error) {
	connection := p.connection
	connection.UserAgent, connection.Headers = by.UserAgent, make(map[string]string)
	connection.Fresh = p.fresh(keyed, by.Environ)
	var err error
	for name, text := range p.connection.Headers {
		if connection.Headers[name], err = expand(placed(text, by.Place), by.Getenv); err != nil {
			return nil, fmt.Errorf("the provider %s: headers: %s: %w", p.Name, name, err)
		}
	}
	client, err := connection.Client()
	if err != nil {
		return nil, fmt.Errorf("the provider %s: %w", p.Name, err)
	}
	return client, nil
}

// Caller is the program that asks providers.
type Caller struct {
	Environ   []string
	Getenv    func(string) string
	UserAgent string
	Place     func(name string) string // the user and the workspace, by these names
}

// HasKey reports whether a setting or a variable has the key.
func (p *Provider) HasKey(getenv func(string) string) bool {
	return p.keyFile != "" || p.command != "" || getenv(p.keyName()) != ""
}

// keyName names the variable of the key.
func (p *Provider) keyName() string { return cmp.Or(p.keyVariable, p.KeyVariable()) }

// Usable returns an error that says what a model of the provider still needs.
func (p *Provider) Usable(getenv func(string) string) error {
	base := p.OwnBase(getenv)
	switch {
	case p.Base == "" && base == "":
		return fmt.Errorf("the address of %s is not set: %s, or baseUrl in the setting providers", p.Name, p.BaseVariable())
	case p.HasKey(getenv):
		return nil
	case p.keyVariable != "" && p.agent == "":
		return fmt.Errorf("the apiKey of %s: the variable %s is not set", p.Name, p.keyVariable)
	case p.configured:
		return nil
	case p.Name == "openai" && base == "": // a server of one's own may need none
		return fmt.Errorf("neither %s nor %s is set, nor is %s or --openai-base-url", p.KeyVariable(), p.BaseVariable(), p.keyFlags(" or "))
	case p.Keyless:
		return nil
	case slices.Contains(withFlags, p.Name):
		return fmt.Errorf("%s is not set, nor is %s", p.KeyVariable(), p.keyFlags(" or "))
	}
	return fmt.Errorf("%s is not set, nor is apiKey of %s in the setting providers", p.KeyVariable(), p.Name)
}

// keyFlags names the flags that set the key.
func (p *Provider) keyFlags(and string) string {
	return "--" + p.Name + "-api-key-file" + and + "--" + p.Name + "-api-key-command"
}

// APIKey returns the API key; empty means none is set. An error shows nothing of
// what may be a key.
func (p *Provider) APIKey(ctx context.Context, environ []string, getenv func(string) string) (string, error) {
	named := func(setting string) string {
		switch {
		case p.agent != "":
			return fmt.Sprintf("agent-key %s/%s", p.agent, p.Name)
		case !slices.Contains(withFlags, p.Name):
			return "the apiKey of " + p.Name
		}
		return p.Name + setting
	}
	switch {
	case p.keyFile != "":
		key, err := readKey(p.keyFile)
		if err != nil {
			return "", fmt.Errorf("%s: %w", named("-api-key-file"), err)
		}
		return key, nil
	case p.command != "":
		key, err := p.commandKey(ctx, environ, false)
		if err != nil {
			return "", fmt.Errorf("%s: %w", named("-api-key-command"), err)
		}
		return key, nil
	case p.agent != "":
		key, err := oneKey([]byte(getenv(p.keyVariable)))
		if err != nil {
			return "", fmt.Errorf("%s: the variable %s %w", named(""), p.keyVariable, err)
		}
		return key, nil
	default:
		return getenv(p.keyName()), nil
	}
}

// KeySource says where the key comes from.
func (p *Provider) KeySource(getenv func(string) string) string {
	switch {
	case p.keyFile != "":
		return "that of the file " + p.keyFile
	case p.command != "":
		return "what the command of " + p.Name + "'s key prints"
	case getenv(p.keyName()) != "":
		return "that of " + p.keyName()
	default:
		return "none"
	}
}

// KeySettings names what sets the key.
func (p *Provider) KeySettings() string {
	if slices.Contains(withFlags, p.Name) {
		return p.KeyVariable() + ", " + p.keyFlags(" and ")
	}
	return p.keyName() + " and apiKey of " + p.Name + " in the setting providers"
}

// BaseSource says where the address comes from.
func (p *Provider) BaseSource() string {
	if p.baseURL != "" {
		return "that of the settings of " + p.Name
	}
	return "that of " + p.BaseVariable()
}

// readKey reads a key file, which nobody else may read.
func readKey(path string) (string, error) {
	info, err := os.Stat(path) // before it is opened: a named pipe would wait
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err = f.Stat(); err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return "", fmt.Errorf("%s can be read or written by others (mode %o): run 'chmod 600 %s'", path, mode, path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyBytes+1))
	if err != nil {
		return "", err
	}
	key, err := oneKey(data)
	if err != nil {
		return "", fmt.Errorf("%s %w", path, err)
	}
	return key, nil
}

// oneKey returns the key that data is, without the white space around it.
func oneKey(data []byte) (string, error) {
	key := string(bytes.TrimSpace(data))
	switch {
	case key == "":
		return "", errors.New("has no key: it is empty")
	case len(data) > maxKeyBytes:
		return "", fmt.Errorf("has more than %d bytes: too long for a key", maxKeyBytes)
	case strings.ContainsFunc(key, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || r == ' ' }):
		return "", errors.New("has something else than a key: it has to be one word of ASCII characters")
	}
	return key, nil
}

// commandKey returns the output of the key command, and runs it again when that is old, or was refused.
func (p *Provider) commandKey(ctx context.Context, environ []string, again bool) (string, error) {
	p.mu.Lock()
	if p.keyOut == nil {
		p.keyOut = newKeptOutput(p.command, printedKey)
	}
	kept := p.keyOut
	p.mu.Unlock()
	return kept.read(ctx, environ, again)
}

// printedKey returns the key that a command has printed.
func printedKey(data []byte) (string, error) {
	key, err := oneKey(data)
	if err != nil {
		return "", fmt.Errorf("what it prints %w", err)
	}
	return key, nil
}

// runKeyCommand runs a command for its output. Its stderr could contain the key, and is not shown.
func runKeyCommand(within context.Context, command string, environ []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(within, keyCommandTimeout)
	defer cancel()
	shell, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/C"
	}
	path, err := ownpath.Look(shell)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, flag, command)
	cmd.Env = ownpath.Environ(environ)
	cmd.WaitDelay = time.Second // for what it has left running with its stdout
	out := &limited{left: maxKeyBytes + 1}
	cmd.Stdout = out
	procgroup.Own(cmd, syscall.SIGKILL)
	if err = procgroup.Start(cmd); err == nil {
		err = cmd.Wait()
		procgroup.Kill(cmd) // what it has left running
	}
	switch {
	case within.Err() != nil:
		return nil, context.Cause(within)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("it has not ended within %s: it has to print the key without asking anything", keyCommandTimeout)
	case err != nil:
		return nil, fmt.Errorf("it has failed (%w): run it in a terminal to see why", err)
	}
	return out.data, nil
}

// limited keeps the beginning of what is written to it.
type limited struct {
	data []byte
	left int
}

// Write implements [io.Writer].
func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.data = append(l.data, p[:n]...)
	l.left -= n
	return len(p), nil
}

// API returns the API of a model at the address base. The setting "type" decides, else what the provider
// there wants.
func (p *Provider) API(name, base string) provider.Form {
	if !p.typed && p.Form == provider.Chat && provider.At(base).ByResponses(name) {
		return provider.Responses
	}
	return p.Form
}
