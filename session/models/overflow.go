package models

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/agentworker/worker/model"
)

// tooLong matches what providers say of a request that is longer than the context window.
var tooLong = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`(prompt|input|request|conversation|messages?|context)( is| are| was)? (too|to) (long|large)`,
	`too large for .{0,40}model|too many (input )?tokens|tokens? limit reached`,
	`context[_ -]?(length|window|size|limit)|maximum context|(model|prompt|input|sequence) length of`,
	`(prompt|input|context|request|tokens?)\b.{0,60}(exceeds?|exceeded|longer than|larger than|greater than|more than)\b.{0,40}(max|limit|length|size|window|context|allowed)`,
	`exceeded model token limit|maximum (prompt|input|model) length|range of input length|reduce the length of the (messages|prompt|input)`,
	"inputs` (tokens|must have)|less than max_seq_len|shorten your (input|prompt)",
}, "|"))

// otherLimit matches what is said of limits of another kind.
var otherLimit = regexp.MustCompile(`(?i)^[^.]*max_(completion_|output_)?tokens.{0,20}(is )?too large[^.]*at most`)

// tooLongCodes are the codes and types of such errors.
var tooLongCodes = map[string]bool{
	"context_length_exceeded": true, "request_too_large": true, "model_max_prompt_tokens_exceeded": true, "tokens_limit_reached": true,
	"exceed_context_size_error": true, "string_above_max_length": true, "1261": true,
}

// Overflows reports whether a model has refused a request because it is too long.
func Overflows(err error) bool {
	e, ok := errors.AsType[*model.Error](err)
	switch {
	case !ok, e.Kind == model.ErrRateLimited, e.Kind == model.ErrAuth, e.Kind == model.ErrTimeout:
		return false
	case e.Status == http.StatusRequestEntityTooLarge, tooLongCodes[e.Code]:
		return true
	}
	return e.Kind == model.ErrInvalid && tooLong.MatchString(e.Message) && !otherLimit.MatchString(e.Message)
}

// The places where an error names the window, the surest first: the last match counts.
var windowNamed = []*regexp.Regexp{
	regexp.MustCompile(`> ?(\d{3,9})`),
	regexp.MustCompile(`\[\d, ?(\d{3,9})\]`),
	regexp.MustCompile(`(\d{3,9}) max`),
	regexp.MustCompile(`(?i)(?:max|limit|context|n_ctx|<=|less than|cannot exceed)([^\d.;]{0,40}?)(\d{3,9})\b`),
}

// namedWindow returns the tokens of the window that an error names; 0 means that it names none.
func namedWindow(message string) int64 {
	for _, named := range windowNamed {
		all := named.FindAllStringSubmatch(message, -1)
		if len(all) == 0 {
			continue
		}
		last := all[len(all)-1]
		if len(last) == 3 && strings.Contains(last[1], " by ") { // by how much it is too long
			return 0
		}
		n, err := strconv.ParseInt(last[len(last)-1], 10, 64)
		if err != nil || n < 512 || strings.Contains(message, last[0]+" bytes") {
			return 0
		}
		return n
	}
	return 0
}

// windows are the context windows that providers have named, by the model's name.
type windows struct{ named sync.Map }

// Learn keeps the window that a refusal names, for all sessions of the process.
func (m *Models) Learn(of model.Model, refusal error) {
	if e, ok := errors.AsType[*model.Error](refusal); ok {
		if n := namedWindow(e.Message); n > 0 {
			m.windows.named.Store(of.Name(), n)
		}
	}
}

// Window returns the window that a provider has named for a model; 0 means that it has not.
func (m *Models) Window(of model.Model) int64 {
	n, _ := m.windows.named.Load(of.Name())
	tokens, _ := n.(int64)
	return tokens
}
