package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/lifetime"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/taskt/offer"
)

// Advice says, a line each, what to do about an error: for example which setting has the
// key or the time limit.
func Advice(err error, set *settings.Settings, getenv func(string) string) []string {
	var limit *lifetime.TimeLimitError
	if errors.As(err, &limit) {
		return []string{fmt.Sprintf("--timeout (now %s) bounds how long a subagent runs, and timeoutSeconds in its file that of one", errtext.Duration(set.Timeout))}
	}
	var ended *store.EndedError
	if errors.As(err, &ended) && ended.Record.ParentID != "" {
		return []string{fmt.Sprintf("'worker sessions resume %s MESSAGE' continues its conversation", ended.Record.ID)}
	}
	var unknown *offer.UnknownAgentError
	if errors.As(err, &unknown) {
		var names []string
		for _, accepted := range unknown.Accepted { // a name, and its aliases in brackets
			names = append(names, strings.FieldsFunc(accepted, func(r rune) bool { return strings.ContainsRune(" (),", r) })...)
		}
		if near := suggest.Nearest(unknown.Name, names); near != "" {
			return []string{fmt.Sprintf("did you mean %q?", near)}
		}
		return nil
	}
	var failed *model.Error
	if !errors.As(err, &failed) {
		return nil
	}
	at, _, _ := strings.Cut(failed.Model, "/")
	to := set.Provider(at)
	if to == nil {
		return nil
	}
	switch failed.Kind {
	case model.ErrAuth:
		return []string{"the key used is " + to.KeySource(getenv) + "; " + to.KeySettings() + " set another one"}
	case model.ErrTimeout:
		return []string{fmt.Sprintf("--model-timeout (now %s) bounds one model call, with its tries", errtext.Duration(set.ModelTimeout))}
	case model.ErrRateLimited:
		return []string{"the limit is that of the account of the key, which is " + to.KeySource(getenv) + "; try again later, or with another --model"}
	case model.ErrUnavailable, model.ErrProtocol:
		if base := to.Base(getenv); base != "" && failed.Status == 0 {
			return []string{fmt.Sprintf("the address is %s", to.BaseSource())}
		}
	}
	return nil
}

// Advised returns an error as text, with the advice about it.
func (p *Program) Advised(err error) string {
	return strings.Join(append([]string{errtext.Of(err)}, Advice(err, &p.Settings, p.Getenv)...), "\n")
}
