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
	`\b(prompt|input|request|conversation|context)( is| are| was)? (too|to) (long|large)`,
	`\btoo large for .{0,40}model|too many (input )?tokens|tokens? limit reached`,
	`(context|maximum (prompt|input|model|sequence))[_ -]?(length|window|size|limit)\b.{0,80}\b(only|exceed(s|ed)?|overflow|less than|but|however|\d{3,})`,
	`(exceed(s|ed|ing)?|longer than|larger than|greater than|more than|over|beyond)\b.{0,60}\b(context|max(imum)?( (number of|input|prompt|model|allowed))? (length|tokens)|token limit|window|limit of \d)`,
	`(prompt|input|messages?|tokens?)\b.{0,60}\b(exceeds?|exceeded|longer than|larger than|more than) .{0,20}(max|limit)`,
	`reduce the length of the (messages|prompt|input)|shorten your (input|prompt)|range of input length`,
	"inputs` (tokens|must have)|less than max_seq_len|context the overflows",
}, "|"))

// otherLimit matches what is said of limits of another kind, and of arguments of a request.
var otherLimit = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`^[^.]{0,20}max_(completion_|output_|new_)?tokens\b[^.]*(too large|at most|output|completion)`,
	`\b(image|file|document|pdf|attachment|audio|video|tool|function|schema|name|description|stop sequence|metadata|cache_control|batch)s?\b.{0,60}(too (long|large|many)|exceed|maximum|limit)`,
	`(exceed|too many|maximum).{0,40}\b(images|files|documents|pages|tools|functions|stop sequences|requests|megabytes|MB)\b`,
	`per (minute|hour|day|second)|quota|wait before|rate limit|billing|credit`,
	`(unknown|unrecognized|unsupported|unexpected|extra|missing) (parameter|argument|field|input|key)|not permitted|must be (an? |positive|between)`,
}, "|"))

// tooLongCodes are the codes and types of such errors.
var tooLongCodes = map[string]bool{
	"context_length_exceeded": true, "request_too_large": true, "model_max_prompt_tokens_exceeded": true, "tokens_limit_reached": true,
	"exceed_context_size_error": true, "1261": true,
}

// stringTooLong matches OpenAI's error of a message that is too long, among those of other strings.
var stringTooLong = regexp.MustCompile(`(?i)invalid '(messages|input)\[[^']*(content|output|text)'?.*too long`)

// Overflows reports whether a model has refused a request because it is too long.
func Overflows(err error) bool {
	e, ok := errors.AsType[*model.Error](err)
	switch {
	case !ok, e.Kind == model.ErrRateLimited, e.Kind == model.ErrAuth, e.Kind == model.ErrTimeout:
		return false
	case e.Status == http.StatusRequestEntityTooLarge, tooLongCodes[e.Code]:
		return true
	}
	return e.Kind == model.ErrInvalid && (stringTooLong.MatchString(e.Message) || tooLong.MatchString(e.Message) && !otherLimit.MatchString(e.Message))
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
	if stringTooLong.MatchString(message) { // it counts characters
		return 0
	}
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
