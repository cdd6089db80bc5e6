package settings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/pflag"
)

const (
	// maxKeyBytes bounds the key in a file, or in the output of a command.
	maxKeyBytes = 16 << 10

	// keyCommandTimeout is how long a key command may take.
	keyCommandTimeout = 15 * time.Second

	// keyAge is how long the output of a key command is used as the key.
	keyAge = 5 * time.Minute
)

// Provider is a server of models: its address, and where its API key comes from. Each has a
// setting, because hosts pass few variables to the programs that they start.
type Provider struct {
	name     string // as in model names
	variable string // what its own variables begin with: ANTHROPIC
	keyFile  string
	command  string
	baseURL  string

	agent       string // whose key it is; empty means that of all agents without one
	keyVariable string // that holds it; set only for an agent's own key
	wrong       error  // with the setting; set only for an agent's own key

	listed func() string // the first model of the server; nil means not asked yet

	mu      sync.Mutex
	key     string // what the command has said
	keyFrom time.Time
}

// Provider returns the settings of a provider; nil means there is none of that name.
func (s *Settings) Provider(name string) *Provider {
	for _, p := range s.providers() {
		if p.name == name {
			return p
		}
	}
	return nil
}

func (s *Settings) providers() []*Provider {
	if s.anthropic == nil { // they are not registered
		s.anthropic, s.openai = new(Provider), new(Provider)
	}
	return []*Provider{s.anthropic, s.openai}
}

// registerProviders registers the flags that say how to get at models.
func (s *Settings) registerProviders(flags *pflag.FlagSet) {
	s.anthropic = &Provider{name: "anthropic", variable: "ANTHROPIC"}
	s.openai = &Provider{name: "openai", variable: "OPENAI"}
	for _, p := range s.providers() {
		key := p.variable + "_API_KEY"
		flags.Var(file(&p.keyFile), p.name+"-api-key-file", "file that holds the API key, readable by you alone (default: "+key+")")
		flags.StringVar(&p.command, p.name+"-api-key-command", "", "shell command that prints the API key (default: "+key+")")
		flags.StringVar(&p.baseURL, p.name+"-base-url", "", "address of the API (default: "+p.variable+"_BASE_URL, else the provider's own)")
	}
}

// rivals returns the flags that set the same thing as name, itself among them. variable is
// the provider's own variable that does so, too.
func (s *Settings) rivals(name string) (flags []string, variable string) {
	for _, p := range s.providers() {
		keys := []string{p.name + "-api-key-file", p.name + "-api-key-command"}
		switch name {
		case keys[0], keys[1]:
			return keys, p.variable + "_API_KEY"
		case p.name + "-base-url":
			return []string{name}, p.variable + "_BASE_URL"
		}
	}
	return []string{name}, ""
}

// checkProviders returns an error for settings that do not go together.
func (s *Settings) checkProviders() error {
	for _, p := range s.providers() {
		if p.keyFile != "" && p.command != "" {
			return fmt.Errorf("%s-api-key-file and %s-api-key-command are both given: one of them has the key", p.name, p.name)
		}
	}
	return nil
}

// KeyFiles returns the files that hold API keys.
func (s *Settings) KeyFiles() []string {
	var files []string
	for _, p := range s.providers() {
		if p.keyFile != "" {
			files = append(files, p.keyFile)
		}
	}
	for _, p := range s.AgentKeys {
		if p.keyFile != "" {
			files = append(files, p.keyFile)
		}
	}
	return files
}

// Base returns the address of the API; empty means the provider's own.
func (p *Provider) Base(getenv func(string) string) string {
	if p.baseURL != "" {
		return p.baseURL
	}
	return getenv(p.variable + "_BASE_URL")
}

// HasKey reports whether a setting or a variable has the key.
func (p *Provider) HasKey(getenv func(string) string) bool {
	return p.keyFile != "" || p.command != "" || getenv(p.variable+"_API_KEY") != ""
}

// APIKey returns the API key; empty means none is set. An error shows nothing of
// what may be a key.
func (p *Provider) APIKey(environ []string, getenv func(string) string) (string, error) {
	named := func(setting string) string {
		if p.agent != "" {
			return fmt.Sprintf("agent-key %s/%s", p.agent, p.name)
		}
		return p.name + setting
	}
	switch {
	case p.keyFile != "":
		key, err := readKey(p.keyFile)
		if err != nil {
			return "", fmt.Errorf("%s: %w", named("-api-key-file"), err)
		}
		return key, nil
	case p.command != "":
		key, err := p.commandKey(environ)
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
		return getenv(p.variable + "_API_KEY"), nil
	}
}

// KeySource says where the key comes from.
func (p *Provider) KeySource(getenv func(string) string) string {
	switch {
	case p.keyFile != "":
		return "that of the file " + p.keyFile
	case p.command != "":
		return "what --" + p.name + "-api-key-command prints"
	case getenv(p.variable+"_API_KEY") != "":
		return "that of " + p.variable + "_API_KEY"
	default:
		return "none"
	}
}

// KeySettings names what sets the key.
func (p *Provider) KeySettings() string {
	return fmt.Sprintf("%s_API_KEY, --%s-api-key-file and --%s-api-key-command", p.variable, p.name, p.name)
}

// BaseSource says where the address comes from.
func (p *Provider) BaseSource() string {
	if p.baseURL != "" {
		return "that of --" + p.name + "-base-url, or of its variable or key in the config file"
	}
	return "that of " + p.variable + "_BASE_URL"
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

// commandKey returns the output of the key command, and runs it again when that is old.
func (p *Provider) commandKey(environ []string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.key != "" && time.Since(p.keyFrom) < keyAge {
		return p.key, nil
	}
	out, err := runKeyCommand(p.command, environ)
	if err != nil {
		return "", err
	}
	key, err := oneKey(out)
	if err != nil {
		return "", fmt.Errorf("what it prints %w", err)
	}
	p.key, p.keyFrom = key, time.Now()
	return key, nil
}

// runKeyCommand runs a command for its output. Its stderr is not shown: it could contain
// the key.
func runKeyCommand(command string, environ []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), keyCommandTimeout)
	defer cancel()
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1], command)
	cmd.Env = environ
	cmd.WaitDelay = time.Second // for what it has left running with its stdout
	out := &limited{left: maxKeyBytes + 1}
	cmd.Stdout = out
	ownGroup(cmd)
	err := cmd.Start()
	if err == nil {
		err = cmd.Wait()
		endGroup(cmd) // what it has left running
	}
	switch {
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

const (
	// listTimeout is how long a server may take to say which models it has.
	listTimeout = 5 * time.Second

	// maxListBytes bounds what it says.
	maxListBytes = 1 << 20
)

// FirstModel returns the first model that the server at base names, which is
// asked once; empty means it names none, or can't be asked. No key is sent.
func (p *Provider) FirstModel(base string) string {
	p.mu.Lock()
	if p.listed == nil {
		p.listed = sync.OnceValue(func() string { return listModels(base) })
	}
	listed := p.listed
	p.mu.Unlock()
	return listed()
}

func listModels(base string) string {
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/models", nil)
	if err != nil {
		return ""
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return ""
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	var list struct {
		Data []struct{ ID string }
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxListBytes))
	if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(data, &list) != nil || len(list.Data) == 0 {
		return ""
	}
	return list.Data[0].ID
}
