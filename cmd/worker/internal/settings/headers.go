package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/model/provider"
)

// keptOutput is the output of a command that prints a credential. It is run again when that is old.
type keptOutput struct {
	command string

	mu   sync.Mutex
	data []byte
	from time.Time
}

// read returns the output, or runs the command. again means that the last output was refused: the
// command is run, unless it just was, for another request.
func (k *keptOutput) read(environ []string, again bool) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if age := time.Since(k.from); k.data != nil && (age < keyAge && !again || age < justRun) {
		return k.data, nil
	}
	data, err := runKeyCommand(k.command, environ)
	if err == nil {
		k.data, k.from = data, time.Now()
	}
	return data, err
}

// justRun is how long a new output is not taken for an old one.
const justRun = time.Second

// fresh returns the headers of a provider that commands print, for [provider.Connection]; nil means that
// none does. keyed has the key.
func (p *Provider) fresh(keyed *Provider, environ []string) func(again bool) (map[string]string, error) {
	if keyed.command == "" && p.headersCommand == nil {
		return nil
	}
	return func(again bool) (map[string]string, error) {
		headers := make(map[string]string)
		if keyed.command != "" {
			key, err := keyed.commandKey(environ, again)
			if err != nil {
				return nil, fmt.Errorf("the command of %s's key: %w", p.Name, err)
			}
			if headers["Authorization"] = "Bearer " + key; p.Header != "" {
				headers = map[string]string{p.Header: key}
			}
		}
		if p.headersCommand == nil {
			return headers, nil
		}
		data, err := p.headersCommand.read(environ, again)
		if err != nil {
			return nil, fmt.Errorf("the headersCommand of %s: %w", p.Name, err)
		}
		var printed map[string]string
		if json.Unmarshal(data, &printed) != nil {
			return nil, fmt.Errorf("the headersCommand of %s: it prints no JSON object of texts", p.Name)
		}
		for name, text := range printed {
			if err := checkHeader(name, text); err != nil {
				return nil, fmt.Errorf("the headersCommand of %s: %w", p.Name, err)
			}
			headers[name] = text
		}
		return headers, nil
	}
}

// checkHeader returns an error for what can't be a header. It does not show the value.
func checkHeader(name, value string) error {
	if name == "" || strings.ContainsAny(name+value, "\r\n\x00") || strings.ContainsAny(name, " :\t") {
		return fmt.Errorf("%q can't be a header", name)
	}
	return nil
}

// placed puts the user and the workspace in place of {user} and {workspace}. place returns them by these
// names.
func placed(text string, place func(name string) string) string {
	for _, name := range []string{"user", "workspace"} {
		if mark := "{" + name + "}"; strings.Contains(text, mark) {
			text = strings.ReplaceAll(text, mark, provider.HeaderText(place(name)))
		}
	}
	return text
}

// The longest that a model may be silent, and that a call of one may take.
const (
	maxSilence = 30 * time.Minute
	maxTotal   = 24 * time.Hour
)

// timeouts are how long the models of a provider may take.
type timeouts struct {
	Silence duration `json:"silence"`
	Total   duration `json:"total"`
}

// check bounds them as the flags do.
func (t timeouts) check() error {
	for _, limit := range []struct {
		name string
		set  duration
		most time.Duration
	}{{"silence", t.Silence, maxSilence}, {"total", t.Total, maxTotal}} {
		if d := time.Duration(limit.set); d != 0 && (d < time.Second || d > limit.most) {
			return fmt.Errorf("timeouts: %s is not within 1s and %s", limit.name, limit.most)
		}
	}
	return nil
}

// Timeouts returns how long a model of the provider may be silent, and how long a call of it may take; 0
// means as the flags say.
func (p *Provider) Timeouts() (silence, total time.Duration) {
	return time.Duration(p.timeouts.Silence), time.Duration(p.timeouts.Total)
}

// Models returns the models that the setting names.
func (p *Provider) Models() []string { return p.models }

// duration is one as people write it: "5m".
type duration time.Duration

// UnmarshalJSON implements [json.Unmarshaler].
func (d *duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return errors.New(`a time is a text, such as "5m"`)
	}
	read, err := time.ParseDuration(text)
	*d = duration(read)
	return err
}
