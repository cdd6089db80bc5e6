package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
)

// advice says, a line each, what to do about an error: which key was used, and
// which setting bounds a time.
func (p *program) advice(err error) []string {
	var limit *session.TimeLimitError
	if errors.As(err, &limit) {
		return []string{fmt.Sprintf("--timeout (now %s) bounds how long a subagent runs, and timeoutSeconds in its file that of one", errtext.Duration(p.settings.timeout))}
	}
	var unknown *taskt.UnknownAgentError
	if errors.As(err, &unknown) {
		var names []string
		for _, accepted := range unknown.Accepted { // a name, and its aliases in brackets
			names = append(names, strings.FieldsFunc(accepted, func(r rune) bool { return strings.ContainsRune(" (),", r) })...)
		}
		if near := nearest(unknown.Name, names); near != "" {
			return []string{fmt.Sprintf("did you mean %q?", near)}
		}
		return nil
	}
	var failed *model.Error
	if !errors.As(err, &failed) {
		return nil
	}
	at, _, _ := strings.Cut(failed.Model, "/")
	to := p.settings.provider(at)
	if to == nil {
		return nil
	}
	switch failed.Kind {
	case model.ErrAuth:
		return []string{"the key used is " + to.keySource(p.getenv) + "; " + to.keySettings() + " set another one"}
	case model.ErrTimeout:
		return []string{fmt.Sprintf("--model-timeout (now %s) bounds one model call, with its tries", errtext.Duration(p.settings.modelTimeout))}
	case model.ErrRateLimited:
		return []string{"the limit is that of the account of the key, which is " + to.keySource(p.getenv) + "; try again later, or with another --model"}
	case model.ErrUnavailable, model.ErrProtocol:
		if base := to.base(p.getenv); base != "" && failed.Status == 0 {
			return []string{fmt.Sprintf("the address is %s", to.baseSource())}
		}
	}
	return nil
}

// keySource says where the key comes from.
func (p *provider) keySource(getenv func(string) string) string {
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

// keySettings names what sets the key.
func (p *provider) keySettings() string {
	return fmt.Sprintf("%s_API_KEY, --%s-api-key-file and --%s-api-key-command", p.variable, p.name, p.name)
}

// baseSource says where the address comes from.
func (p *provider) baseSource() string {
	if p.baseURL != "" {
		return "that of --" + p.name + "-base-url, or of its variable or key in the config file"
	}
	return "that of " + p.variable + "_BASE_URL"
}
