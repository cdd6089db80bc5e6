package replaymodel

import (
	"errors"
	"fmt"

	"github.com/agentworker/worker/model"
)

// check reports what is wrong with a turn.
func (t *Turn) check() error {
	switch t.Stop {
	case "", model.StopEnd, model.StopToolCalls, model.StopMaxTokens, model.StopRefusal:
	default:
		return fmt.Errorf("unknown stop %q (use end, tool_calls, max_tokens or refusal)", t.Stop)
	}
	for i, call := range t.ToolCalls {
		if call.Name == "" {
			return fmt.Errorf("tool call %d has no name", i+1)
		}
	}
	if t.DelayMs < 0 {
		return fmt.Errorf("delayMs is %d, less than 0", t.DelayMs)
	}
	ends := 0
	for _, set := range []bool{t.Hang, t.Cut, t.Error != nil && t.Error.Times == 0} {
		if set {
			ends++
		}
	}
	if ends > 1 {
		return errors.New("only one of error, hang and cut can end a turn")
	}
	if t.Error != nil {
		return t.Error.check()
	}
	return nil
}

func (f *Failure) check() error {
	switch f.Kind {
	case "", model.ErrAuth, model.ErrInvalid, model.ErrRateLimited, model.ErrUnavailable, model.ErrProtocol:
	default:
		return fmt.Errorf("unknown error kind %q (use auth, invalid, rate_limited, unavailable or protocol)", f.Kind)
	}
	switch {
	case f.Kind == "" && f.Status == 0:
		return errors.New("an error needs a kind or a status")
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("error status %d is not within 400 and 599", f.Status)
	case f.RetryAfterMs < 0:
		return fmt.Errorf("retryAfterMs is %d, less than 0", f.RetryAfterMs)
	case f.Times < 0:
		return fmt.Errorf("times is %d, less than 0", f.Times)
	}
	return nil
}

// complete returns f with what it leaves out filled in.
func (f Failure) complete() *Failure {
	if f.Kind == "" {
		f.Kind = kindOf(f.Status)
	}
	if f.Status == 0 {
		f.Status = statusOf(f.Kind)
	}
	if f.Message == "" {
		f.Message = "scripted error"
	}
	return &f
}

func kindOf(status int) model.ErrorKind {
	switch {
	case status == 401 || status == 403:
		return model.ErrAuth
	case status == 429:
		return model.ErrRateLimited
	case status >= 500:
		return model.ErrUnavailable
	default:
		return model.ErrInvalid
	}
}

// statusOf returns the HTTP status of an error; 0 means it comes in an answer that
// begins well.
func statusOf(kind model.ErrorKind) int {
	switch kind {
	case model.ErrAuth:
		return 401
	case model.ErrInvalid:
		return 400
	case model.ErrRateLimited:
		return 429
	case model.ErrUnavailable:
		return 503
	default:
		return 0
	}
}
