package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
	"github.com/agentworker/worker/tool"
)

// Bounds of an input.
const (
	maxInput  = 16 << 10        // bytes
	inputTime = 5 * time.Second // until the command has read enough to take it
	inputWait = 1               // seconds, for output
)

type inputArgs struct {
	ID          string `json:"id,omitempty"`
	Text        string `json:"text"`
	EOF         bool   `json:"eof,omitempty"`
	WaitSeconds *int   `json:"waitSeconds,omitempty"`
	Until       string `json:"until,omitempty"`
}

var inputSchema = fmt.Appendf(nil, `{"type":"object","properties":{
"id":{"type":["string","null"],"description":"The id that the call gave which has started the command: cmd_1. Default: the only command."},
"text":{"type":"string","maxLength":%d,"description":"What to type. End a line with a line break. With tty, \\u0003 is Ctrl-C and \\u0004 Ctrl-D."},
"eof":{"type":["boolean","null"],"description":"true: the input ends behind the text; without tty."},
"waitSeconds":{"type":["integer","null"],"minimum":0,"maximum":%d,"description":"Wait so long for output. Default: %d, with until %d."},
"until":{"type":["string","null"],"maxLength":%d,"description":"A regular expression (RE2): wait until a line of the output matches it, or the command ends."}
},"required":["text"],"additionalProperties":false}`, maxInput, maxWait, inputWait, defaultWait, maxUntil)

// inputTool is shell_input. Input may be a command line: nobody knows whether the process runs
// what it reads. So it is judged as one.
type inputTool struct {
	commandTool[inputArgs]
	shell tool.Sandboxed // nil means there is none
	paths permission.Workspace
}

var _ tool.Sandboxed = (*inputTool)(nil)

func newInputTool(builtin []tool.Tool, paths permission.Workspace) *inputTool {
	t := &inputTool{paths: paths, commandTool: commandTool[inputArgs]{
		spec: tool.Spec{
			Name: toolcatalog.ShellInput, OwnTimeLimit: true, Follows: toolcatalog.ShellExec, Judged: true, InputSchema: inputSchema,
			Description: "Types a text into a command in the background, and gives what it writes then. The text is judged by the rules like a command line.",
		},
		run: (*Commands).input,
	}}
	for _, b := range builtin {
		if b.Spec().Name == toolcatalog.ShellExec {
			t.shell, _ = b.(tool.Sandboxed)
		}
	}
	return t
}

// Held implements [tool.Sandboxed]: what is typed runs in the sandbox of the command.
func (t *inputTool) Held(sessionID string, rules *permission.Layers) (held bool, why string) {
	if t.shell == nil {
		return false, "there are no commands"
	}
	return t.shell.Held(sessionID, rules)
}

// EndSession implements [tool.Sandboxed]: shell_exec has the same sandbox, and ends it.
func (t *inputTool) EndSession(string) error { return nil }

// Values implements [tool.Tool]: those of the text as a command line. Since it may be one part of a
// line, a rule that denies some commands or files has it asked about.
func (t *inputTool) Values(raw json.RawMessage) ([]permission.Value, error) {
	a, err := decode[inputArgs](raw)
	if err != nil {
		return nil, err
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	values := []permission.Value{{Tool: toolcatalog.ShellExec, Text: strconv.Quote(a.Text)}}
	if line := strings.TrimSpace(a.Text); line != "" {
		if values, err = shell.Values(t.paths, toolcatalog.ShellExec, line); err != nil {
			values = []permission.Value{{Tool: toolcatalog.ShellExec, Text: strconv.Quote(a.Text), Certainty: permission.Unknown, Why: err.Error()}}
		}
	}
	return append(values,
		permission.Value{Tool: toolcatalog.ShellExec, Kind: permission.Reached, Certainty: permission.Unknown},
		permission.Value{Tool: toolcatalog.ReadFile, Kind: permission.Mentioned, Certainty: permission.Unknown},
		permission.Value{Tool: toolcatalog.WriteFile, Kind: permission.Mentioned, Certainty: permission.Unknown},
	), nil
}

// check returns what is wrong with an input.
func (a *inputArgs) check() error {
	switch {
	case a.Text == "" && !a.EOF:
		return errors.New("text is empty")
	case len(a.Text) > maxInput:
		return fmt.Errorf("text has %d bytes: it may have %d", len(a.Text), maxInput)
	}
	return nil
}

// Describe implements [tool.Tool].
func (t *inputTool) Describe(call *tool.Call) tool.Description {
	a, err := decode[inputArgs](call.Args)
	if err != nil {
		return tool.DescribeArguments("type into a command in the background", call.Args)
	}
	d := tool.Description{Title: "type into a command in the background"}
	if s, err := of(call); err == nil {
		if c, err := s.get(a.ID); err == nil {
			d.Parts = append(d.Parts, tool.Part{Name: "command " + c.info.ID, Form: tool.Command, Text: c.info.Line})
		}
	}
	d.Parts = append(d.Parts, tool.Part{Name: "text", Form: tool.Text, Text: a.Text})
	if a.EOF {
		d.Title += ", and end its input"
	}
	return d
}

// input is shell_input.
func (s *Commands) input(ctx context.Context, a inputArgs) (tool.Result, error) {
	if err := a.check(); err != nil {
		return tool.Result{}, err
	}
	waits := outputArgs{WaitSeconds: a.WaitSeconds, Until: a.Until}
	if seconds := inputWait; a.WaitSeconds == nil && a.Until == "" {
		waits.WaitSeconds = &seconds
	}
	until, wait, err := waits.waiting()
	if err != nil {
		return tool.Result{}, err
	}
	c, err := s.get(a.ID)
	switch {
	case err != nil:
		return tool.Result{}, err
	case c.over():
		return tool.Result{}, fmt.Errorf("%s has ended: nothing can be typed any more", c.info.ID)
	case c.moved:
		return tool.Result{}, fmt.Errorf("%s has no input: it began without background, and was moved there later; to type, stop it and start it with background: true", c.info.ID)
	case a.EOF && c.info.Terminal:
		return tool.Result{}, errors.New("eof is for commands without a terminal: here type \\u0004")
	}
	from := c.from()
	total, _ := c.log.size()
	if err := c.write(a.Text, a.EOF); err != nil {
		return tool.Result{}, err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	if !c.await(ctx, timer.C, total, until) {
		return tool.Result{}, context.Cause(ctx)
	}
	return c.show(from)
}

// write types a text.
func (c *command) write(text string, eof bool) error {
	if c.info.Terminal {
		text = strings.ReplaceAll(text, "\n", "\r") // as the key does
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.input.SetWriteDeadline(time.Now().Add(inputTime))
	n, err := c.input.WriteString(text)
	if err != nil {
		return fmt.Errorf("%s has taken %d of %d bytes: it does not read, or its input has ended (%w)", c.info.ID, n, len(text), err)
	}
	select {
	case c.typed <- struct{}{}:
	default:
	}
	if eof {
		return c.input.Close()
	}
	return nil
}
