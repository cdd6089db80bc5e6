package commands

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/internal/headtail"
)

// Bounds of a call of shell_output.
const (
	maxShown    = 50 << 10 // bytes of output
	maxWait     = 600      // seconds
	defaultWait = 30       // seconds, for a line that matches
	maxUntil    = 1000     // bytes of a regular expression
	maxLine     = 64 << 10 // bytes of a line that is looked at
)

type outputArgs struct {
	ID          string `json:"id,omitempty"`
	From        *int64 `json:"from,omitempty"`
	WaitSeconds *int   `json:"waitSeconds,omitempty"`
	Until       string `json:"until,omitempty"`
}

var outputSchema = fmt.Appendf(nil, `{"type":"object","properties":{
"id":{"type":["string","null"],"description":"The id that the call gave which has started the command: cmd_1. Default: the only command."},
"from":{"type":["integer","null"],"description":"Begin at this byte of the output; below 0: so many bytes before its end. Default: where your last look at the command ended."},
"waitSeconds":{"type":["integer","null"],"minimum":0,"maximum":%d,"description":"Wait so long for output, or for the end of the command. Default: 0, with until %d."},
"until":{"type":["string","null"],"maxLength":%d,"description":"A regular expression (RE2): wait until a line of the output matches it, or the command ends."}
},"additionalProperties":false}`, maxWait, defaultWait, maxUntil)

// output is shell_output.
func (s *Commands) output(ctx context.Context, a outputArgs) (tool.Result, error) {
	until, wait, err := a.waiting()
	if err != nil {
		return tool.Result{}, err
	}
	c, err := s.get(a.ID)
	if err != nil {
		return tool.Result{}, err
	}
	from := c.from()
	if a.From != nil {
		total, _ := c.log.size()
		if from = *a.From; from < 0 {
			from = max(0, total+from)
		}
		if from > total {
			return tool.Result{}, fmt.Errorf("from is %d, and %s has written %d bytes so far", from, c.info.ID, total)
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	if !c.await(ctx, timer.C, from, until) {
		return tool.Result{}, context.Cause(ctx)
	}
	return c.show(from)
}

// first waits for the end of the command, and returns what the call reads that has started it. goesOn
// is added if the command runs on.
func (c *command) first(ctx context.Context, wait time.Duration, goesOn string) (tool.Result, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
	case <-ctx.Done():
		c.stop("the end of its call", true)
		<-c.done
	}
	r, err := c.show(0)
	switch {
	case err != nil:
		return r, err
	case r.Meta["running"] == true:
		r.Text += "\n" + goesOn
	default:
		c.stop("", true) // only noted: it has ended
		r.IsError = c.state().end.Status != 0
	}
	return r, nil
}

// waiting returns for what a call waits, and how long.
func (a *outputArgs) waiting() (until *regexp.Regexp, wait time.Duration, err error) {
	seconds := 0
	if a.Until != "" {
		seconds = defaultWait
		if until, err = compile("until", a.Until); err != nil {
			return nil, 0, err
		}
	}
	if a.WaitSeconds != nil {
		seconds = *a.WaitSeconds
	}
	if seconds < 0 || seconds > maxWait {
		return nil, 0, fmt.Errorf("waitSeconds is %d, allowed are 0 to %d", seconds, maxWait)
	}
	return until, time.Duration(seconds) * time.Second, nil
}

// compile returns the regular expression of an argument.
func compile(name, text string) (*regexp.Regexp, error) {
	if len(text) > maxUntil {
		return nil, fmt.Errorf("%s has %d bytes: it may have %d", name, len(text), maxUntil)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return re, nil
}

// await waits until there is output from a place on, or a line of it that matches. It waits no
// longer than the command runs, and for a value of over. It reports false if ctx has ended.
func (c *command) await(ctx context.Context, over <-chan time.Time, from int64, until *regexp.Regexp) bool {
	lines := lineReader{log: c.log, at: from}
	for {
		ended := c.over()
		total, grows := c.log.size()
		if ended || until == nil && total > from || until != nil && lines.find(until, total) {
			return true
		}
		select {
		case <-grows:
		case <-c.done:
		case <-over:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// lineReader looks at the lines of an output as they come.
type lineReader struct {
	log  *outputLog
	at   int64  // up to where it has read
	line []byte // the last line, which has no end yet
}

// find reads on, and reports whether a line matches, be it the last one without its end.
func (r *lineReader) find(re *regexp.Regexp, total int64) bool {
	found := false
	r.each(total, func(line string) {
		found = found || re.MatchString(line)
	})
	return found || len(r.line) > 0 && re.MatchString(plainLine(r.line))
}

// each reads on, and calls do with each line that has its end.
func (r *lineReader) each(total int64, do func(line string)) {
	for r.at < total {
		to := min(total, r.at+maxLine)
		before, after, gone, err := r.log.read(span{r.at, to})
		if err != nil {
			r.at = total
			return
		}
		if gone.size() > 0 {
			r.line = nil
		}
		r.at = to
		r.line = append(append(r.line, before...), after...)
		for {
			line, rest, ok := bytes.Cut(r.line, []byte{'\n'})
			if !ok {
				break
			}
			do(plainLine(line))
			r.line = rest
		}
		if len(r.line) > maxLine {
			r.line = r.line[len(r.line)-maxLine:]
		}
		r.line = bytes.Clone(r.line)
	}
}

// plainLine is a line as people see it.
func plainLine(line []byte) string {
	return headtail.Plain(strings.ToValidUTF8(string(line), "\uFFFD"))
}

// show returns the output from a place on, as much as fits, and what the command does. The next
// look begins after it.
func (c *command) show(from int64) (tool.Result, error) {
	st := c.state()
	total, _ := c.log.size()
	text, to, cut, err := c.text(span{from, total}, st.over)
	if err != nil {
		return tool.Result{}, err
	}
	c.setRead(to)
	meta := map[string]any{"commandId": c.info.ID, "from": from, "next": to, "running": !st.over}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if err := c.log.fault(); err != nil {
		text += fmt.Sprintf("(the log takes no more: %v)\n", err)
	}
	if st.over {
		text += fmt.Sprintf("(%s has ended: %v; %d bytes in all)", c.info.ID, st.end, st.end.Bytes)
		meta["end"] = st.end.String()
		if st.end.Status >= 0 {
			meta["exitStatus"] = st.end.Status
		}
	} else {
		text += fmt.Sprintf("(%s runs for %s; %d bytes so far)", c.info.ID, termtext.Duration(time.Since(st.began)), to)
	}
	for _, r := range st.refusals {
		text += fmt.Sprintf("\n(the sandbox refused to %s %s: %s)", r.Op, r.Path, r.Reason)
	}
	if len(st.refusals) > 0 {
		meta["refused"] = st.refusals
	}
	return tool.Result{Text: text, Truncated: cut, Meta: meta}, nil
}

// text returns a part of the output up to the bound of a result, and where it ends: before a
// character that is not complete yet, unless the command has ended. Of more than fits it has the
// beginning and the end.
func (c *command) text(want span, over bool) (text string, to int64, cut bool, err error) {
	var b strings.Builder
	pieces := []span{want}
	if want.size() > maxShown {
		pieces = []span{{want.from, want.from + maxShown/2}, {want.to - maxShown/2, want.to}}
	}
	for i, p := range pieces {
		if i > 0 {
			left := span{pieces[0].to, p.from}
			cut = true
			fmt.Fprintf(&b, "\n[… %d bytes left out: from %d on …]\n", left.size(), left.from)
		}
		before, after, gone, err := c.log.read(p)
		if err != nil {
			return "", 0, false, err
		}
		if i == len(pieces)-1 && !over {
			last := &after
			if len(after) == 0 {
				last = &before
			}
			n := incomplete(*last)
			*last, want.to = (*last)[:len(*last)-n], want.to-int64(n)
		}
		b.Write(before)
		if gone.size() > 0 {
			cut = true
			fmt.Fprintf(&b, "\n[… the bytes %d to %d are gone: the log keeps the first and the last %d MiB …]\n", gone.from, gone.to, logBytes/2>>20)
		}
		b.Write(after)
	}
	return headtail.Plain(strings.ToValidUTF8(b.String(), "\uFFFD")), want.to, cut, nil
}

// incomplete returns how many bytes at the end begin a character of which more is to come.
func incomplete(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i:]; utf8.RuneStart(c[0]) {
			if !utf8.FullRune(c) {
				return i
			}
			break
		}
	}
	return 0
}
