package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/model/provider"
)

// providerName is what a provider may be called: its models are NAME/MODEL.
var providerName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// providerConfig is a provider in the setting "providers".
type providerConfig struct {
	Type     provider.Form     `json:"type"`
	BaseURL  string            `json:"baseUrl"`
	APIKey   string            `json:"apiKey"` // where it is, as in agent-key
	Headers  map[string]string `json:"headers"`
	Query    map[string]string `json:"query"`
	CAFile   string            `json:"caFile"`
	CertFile string            `json:"certFile"`
	KeyFile  string            `json:"keyFile"`
	Proxy    string            `json:"proxy"`
	Command  string            `json:"headersCommand"`
	Models   []string          `json:"models"`
	Timeouts timeouts          `json:"timeouts"`
}

// providersValue returns the setting "providers": an object of providers by their names. What a
// flag or the variable says overrides the config file. Only checkProviders reports what is
// wrong: a text may hold a key that does not belong there.
func (s *Settings) providersValue() *value {
	var shown string
	read := func(data []byte, dir string) error {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(data, &all); err != nil || all == nil {
			s.wrongProviders = errors.New("write an object of providers by their names")
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if err := s.addProvider(name, all[name], dir); err != nil {
				s.wrongProviders = fmt.Errorf("%s: %w%s", name, err, s.place(all[name], err, dir))
			}
		}
		shown = strings.Join(slices.Sorted(maps.Keys(all)), ",")
		return nil
	}
	return &value{
		kind: "JSON", show: func() string { return shown },
		set:    func(text string) error { return read([]byte(text), "") },
		config: func(raw json.RawMessage, dir string) error { return read(raw, dir) },
	}
}

// place says where in the config file a provider is wrong: the line of the field that the error begins
// with, else that of the provider. It is empty for what is not in that file.
func (s *Settings) place(provider json.RawMessage, err error, dir string) string {
	at := bytes.Index(s.configText, provider)
	if dir == "" || at < 0 {
		return ""
	}
	field, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "the "), " ")
	if i := bytes.Index(provider, []byte(`"`+strings.TrimRight(field, ":,")+`"`)); i > 0 {
		at += i
	}
	return fmt.Sprintf(" (%s:%d)", filepath.Join(dir, configName), 1+bytes.Count(s.configText[:at], []byte("\n")))
}

// addProvider adds a provider, or changes one that is known. Errors show no value, since one may
// be a key.
func (s *Settings) addProvider(name string, data json.RawMessage, dir string) error {
	var c providerConfig
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return err
	}
	p := s.Provider(name)
	if p == nil {
		switch {
		case !providerName.MatchString(name) || name == "replay":
			return errors.New("that can't be a name: it has small letters, digits, - and _")
		case c.Type == "" || c.BaseURL == "":
			return fmt.Errorf("it is not a known provider, so it needs type (one of %s) and baseUrl", formNames())
		}
		p = &Provider{Row: provider.Row{Name: name, Prefix: strings.ToUpper(strings.ReplaceAll(name, "-", "_")), Keyless: true}}
		s.Providers = append(s.Providers, p)
	}
	if c.Type != "" {
		if !slices.Contains(provider.Forms, c.Type) {
			return fmt.Errorf("the type %q is none of %s", c.Type, formNames())
		}
		p.Form, p.typed = c.Type, true
		if c.Type == provider.Messages && p.Header == "" {
			p.Header = "X-Api-Key"
		}
	}
	if c.BaseURL != "" {
		if u, err := url.Parse(c.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("baseUrl is no http or https URL")
		}
		p.baseURL, p.configured = c.BaseURL, true
	}
	if c.APIKey != "" {
		how, what, _ := strings.Cut(c.APIKey, ":")
		set := keySources[how]
		if set == nil || what == "" {
			return errors.New("apiKey: write where the key is, as env:VARIABLE, file:PATH or command:COMMAND, and never the key itself")
		}
		if err := set(p, what, dir); err != nil {
			return fmt.Errorf("apiKey: %w", err)
		}
	}
	for header, text := range c.Headers {
		if err := cmp.Or(checkHeader(header, text), checkMarks(header, text)); err != nil {
			return fmt.Errorf("headers: %w", err)
		}
	}
	if p.headersCommand = nil; c.Command != "" {
		p.headersCommand = newKeptOutput(c.Command, printedHeaders)
	}
	if p.models, p.timeouts = c.Models, c.Timeouts; slices.Contains(c.Models, "") {
		return errors.New("models: an empty text is no name of a model")
	}
	if err := c.Timeouts.check(); err != nil {
		return err
	}
	p.connection = provider.Connection{
		Headers: c.Headers, Query: c.Query, Proxy: c.Proxy,
		CAFile: below(dir, c.CAFile), CertFile: below(dir, c.CertFile), KeyFile: below(dir, c.KeyFile),
	}
	_, err := p.connection.Client()
	return err
}

func formNames() string {
	var names []string
	for _, form := range provider.Forms {
		names = append(names, string(form))
	}
	return strings.Join(names, ", ")
}

// reference matches a variable of the environment in a header: ${CORP_TOKEN}.
var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand puts the values of variables into a header.
func expand(text string, getenv func(string) string) (string, error) {
	var err error
	text = reference.ReplaceAllStringFunc(text, func(found string) string {
		name := found[2 : len(found)-1]
		value := getenv(name)
		if value == "" {
			err = fmt.Errorf("the variable %s is not set", name)
		}
		return value
	})
	return text, err
}
