package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/model/provider"
)

// keptOutput is what a command that prints a credential has printed. It is run again when that is old.
type keptOutput[T any] struct {
	command string
	parse   func(data []byte) (T, error) // only what it takes is kept

	turn  chan struct{} // has a value while somebody reads
	value T
	from  time.Time // zero means that there is no value
}

func newKeptOutput[T any](command string, parse func([]byte) (T, error)) *keptOutput[T] {
	return &keptOutput[T]{command: command, parse: parse, turn: make(chan struct{}, 1)}
}

// read returns the output, or runs the command. again means that the last output was refused: the
// command is run, unless it just was, for another request.
func (k *keptOutput[T]) read(ctx context.Context, environ []string, again bool) (value T, err error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return value, context.Cause(ctx)
	}
	if age := time.Since(k.from); age < keyAge && !again || age < justRun {
		return k.value, nil
	}
	data, err := runKeyCommand(ctx, k.command, environ)
	if err == nil {
		value, err = k.parse(data)
	}
	if err == nil {
		k.value, k.from = value, time.Now()
	}
	return value, err
}

// justRun is how long a new output is not taken for an old one.
const justRun = time.Second

// fresh returns the headers of a provider that commands print, for [provider.Connection]; nil means that
// none does. keyed has the key.
func (p *Provider) fresh(keyed *Provider, environ []string) func(ctx context.Context, again bool) (map[string]string, error) {
	if keyed.command == "" && p.headersCommand == nil {
		return nil
	}
	return func(ctx context.Context, again bool) (map[string]string, error) {
		headers := make(map[string]string)
		if keyed.command != "" {
			key, err := keyed.commandKey(ctx, environ, again)
			if err != nil {
				return nil, fmt.Errorf("the command of %s's key: %w", p.Name, err)
			}
			if p.Header != "" {
				headers[p.Header] = key
			} else {
				headers["Authorization"] = "Bearer " + key
			}
		}
		if p.headersCommand != nil {
			printed, err := p.headersCommand.read(ctx, environ, again)
			if err != nil {
				return nil, fmt.Errorf("the headersCommand of %s: %w", p.Name, err)
			}
			maps.Copy(headers, printed)
		}
		return headers, nil
	}
}

// printedHeaders returns the headers that data is.
func printedHeaders(data []byte) (map[string]string, error) {
	var printed map[string]string
	if json.Unmarshal(data, &printed) != nil || printed == nil {
		return nil, errors.New("it prints no JSON object of texts")
	}
	for name, text := range printed {
		if err := checkHeader(name, text); err != nil {
			return nil, err
		}
	}
	return printed, nil
}

// checkHeader returns an error for what can't be a header. It does not show the value.
func checkHeader(name, value string) error {
	if name == "" || strings.ContainsAny(name+value, "\r\n\x00") || strings.ContainsAny(name, " :\t") {
		return fmt.Errorf("%q can't be a header", name)
	}
	return nil
}

// checkMarks returns an error for a header with an unknown mark.
func checkMarks(name, value string) error {
	for _, found := range mark.FindAllString(value, -1) {
		if found[0] != '$' && !slices.Contains(marks, found) {
			return fmt.Errorf("%q has %s: write one of %s", name, found, strings.Join(marks, ", "))
		}
	}
	return nil
}

// mark matches a mark in a header, in whose place it names who asks, and variables. marks are all
// of the first.
var (
	mark  = regexp.MustCompile(`\$?\{[A-Za-z_-]+\}`)
	marks = []string{"{agent}", "{user}", "{session}", "{workspace}"}
)

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
