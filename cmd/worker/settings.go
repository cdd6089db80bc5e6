package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/tailscale/hujson"

	"github.com/agentworker/worker/internal/workspace"
)

// settings are the flags that all commands share. Each has an environment
// variable (--state-dir: WORKER_STATE_DIR) and a key in the config file
// (stateDir). A flag beats the environment, which beats the file.
type settings struct {
	dir       string
	workspace string
	stateDir  string
	model     string
	nats      string
	logLevel  slog.Level
	maxDepth  int
	timeout   time.Duration
}

func (s *settings) register(flags *pflag.FlagSet) {
	s.logLevel = slog.LevelError
	flags.StringVar(&s.dir, "dir", "", "start in this folder; the workspace is its git top level, else the folder (default: the current folder)")
	flags.StringVar(&s.workspace, "workspace", "", "name of the workspace (default: the folder's name and a hash of its path)")
	flags.StringVar(&s.stateDir, "state-dir", "", "folder for sessions, events and permissions.jsonc (default: $XDG_STATE_HOME/agentworker/<workspace>)")
	flags.StringVar(&s.model, "model", "", "offline, anthropic/NAME, openai/NAME or replay/FILE (default: by the API key that is set, else offline)")
	flags.StringVar(&s.nats, "nats", "", "URL of a NATS server with JetStream (default: a server within this process)")
	flags.TextVar(&s.logLevel, "log-level", s.logLevel, "debug, info, warn or error")
	flags.IntVar(&s.maxDepth, "max-depth", 1, "how deep agents may call agents, 1 to 5; 1: subagents call none")
	flags.DurationVar(&s.timeout, "timeout", 5*time.Minute, "how long a subagent may run, 1s to 24h")
}

// names are the settings' flags.
var settingNames = []string{"dir", "workspace", "state-dir", "model", "nats", "log-level", "max-depth", "timeout"}

// resolve fills in, from the environment and the config file, what no flag has set.
func (s *settings) resolve(flags *pflag.FlagSet, getenv func(string) string) error {
	file, path, err := readConfig(getenv)
	if err != nil {
		return usageError{err}
	}
	for _, name := range settingNames {
		flag := flags.Lookup(name)
		if flag == nil || flag.Changed {
			continue
		}
		env := "WORKER_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		value, source := getenv(env), env
		if value == "" {
			value, source = file[configKey(name)], path+": "+configKey(name)
		}
		if value == "" {
			continue
		}
		if err := flag.Value.Set(value); err != nil {
			return usageError{fmt.Errorf("%s: %q: %w", source, value, err)}
		}
	}
	switch {
	case s.timeout < time.Second || s.timeout > 24*time.Hour:
		return usageError{fmt.Errorf("timeout %s is not within 1s and 24h", s.timeout)}
	case s.maxDepth < 1 || s.maxDepth > 5:
		return usageError{fmt.Errorf("max-depth %d is not within 1 and 5", s.maxDepth)}
	}
	return nil
}

// configKey returns a flag's key in the config file: state-dir is stateDir.
func configKey(flag string) string {
	parts := strings.Split(flag, "-")
	for i := range parts[1:] {
		parts[i+1] = strings.ToUpper(parts[i+1][:1]) + parts[i+1][1:]
	}
	return strings.Join(parts, "")
}

// readConfig reads the config file, JSON with comments, if there is one.
func readConfig(getenv func(string) string) (values map[string]string, path string, err error) {
	dir, err := workspace.ConfigDir(getenv)
	if err != nil {
		return nil, "", err
	}
	path = filepath.Join(dir, "config.jsonc")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, nil
	}
	if err != nil {
		return nil, path, fmt.Errorf("reading the config file: %w", err)
	}
	plain, err := hujson.Standardize(data)
	if err != nil {
		return nil, path, fmt.Errorf("%s: %w", path, err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(plain, &raw); err != nil {
		return nil, path, fmt.Errorf("%s: %w", path, err)
	}
	values = make(map[string]string, len(raw))
	for key, value := range raw {
		if !slices.ContainsFunc(settingNames, func(name string) bool { return configKey(name) == key }) {
			return nil, path, fmt.Errorf("%s: unknown key %q (known: %s)", path, key, strings.Join(configKeys(), ", "))
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value) // a number
		}
		values[key] = text
	}
	return values, path, nil
}

func configKeys() []string {
	var keys []string
	for _, name := range settingNames {
		keys = append(keys, configKey(name))
	}
	return keys
}
