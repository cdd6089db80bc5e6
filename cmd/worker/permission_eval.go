package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
)

func (p *program) permissionEvalCommand() *cobra.Command {
	var shell bool
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Decide calls that are read from stdin, a JSON object a line",
		Long: `eval reads JSON lines from stdin and writes a line for each, as soon as it has it:

  {"agent": RULES|null, "static": RULES, "runtime": [[TOOL, PATTERN]...], "tool": NAME, "args": {...}}
  {"action": "allow|ask|deny", "layer": "agent|static|runtime|default|tool", "rule": {...}|null, "values": [...]}

RULES are in the form of permissions.jsonc, or an ordered list of pairs. "values"
in place of "args" are the texts to judge; args become values as the tool itself
says, in the workspace of --dir. With --shell it reads {"command"} and writes
{"patterns", "always"}: the commands of a line, and what "always" would allow.

A line that cannot be read is answered by {"error": "line N: ..."}, and the exit
status is 1 at the end.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			j, err := p.openJudge()
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, j.close()) }()
			answer := j.eval
			if shell {
				answer = j.evalShell
			}
			return p.answerLines(cmd.Context(), answer)
		},
	}
	cmd.Flags().BoolVar(&shell, "shell", false, "analyse command lines instead: {\"command\"} to {\"patterns\", \"always\"}")
	return cmd
}

// maxEvalLine bounds the bytes of one line of stdin.
const maxEvalLine = 16 << 20

// inputLine is a line of stdin. With err it is the last, or one that is too long.
type inputLine struct {
	data []byte
	err  error
}

var errLongLine = fmt.Errorf("the line is longer than %d bytes", maxEvalLine)

// answerLines answers each line of stdin by a line of stdout, which is flushed
// when no further line is at hand. Blank lines are skipped.
func (p *program) answerLines(ctx context.Context, answer func(line []byte) (any, error)) error {
	lines := make(chan inputLine, 64)
	go readLines(ctx, p.stdin, lines)
	out := bufio.NewWriter(p.stdout)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	bad := false
	for n := 1; ; n++ {
		var line inputLine
		select {
		case line = <-lines:
		default:
			if err := out.Flush(); err != nil {
				return err
			}
			select {
			case line = <-lines:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if line.err != nil && line.err != errLongLine {
			err := out.Flush()
			if line.err != io.EOF {
				err = errors.Join(fmt.Errorf("reading stdin: %w", line.err), err)
			}
			if err == nil && bad {
				return exitError(exitFailed)
			}
			return err
		}
		if line.err == nil && len(bytes.TrimSpace(line.data)) == 0 {
			continue
		}
		var doc any
		err := line.err
		if err == nil {
			doc, err = answer(line.data)
		}
		if err != nil {
			bad = true
			doc = struct {
				Error string `json:"error"`
			}{fmt.Sprintf("line %d: %v", n, err)}
		}
		if err := enc.Encode(doc); err != nil {
			return err
		}
	}
}

// readLines sends the lines of in until its end or that of ctx. A read that
// hangs can't be interrupted: it is left to the end of the process.
func readLines(ctx context.Context, in io.Reader, lines chan<- inputLine) {
	r := bufio.NewReader(in)
	for {
		line := readLine(r)
		select {
		case lines <- line:
		case <-ctx.Done():
			return
		}
		if line.err != nil && line.err != errLongLine {
			return
		}
	}
}

// readLine reads a line, or skips one that is too long. The end of the input
// is an error of its own, after a last line without an end.
func readLine(r *bufio.Reader) inputLine {
	var line inputLine
	for {
		part, err := r.ReadSlice('\n')
		if len(line.data)+len(part) > maxEvalLine {
			line.data, line.err, part = nil, errLongLine, nil
		}
		if line.err == nil {
			line.data = append(line.data, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && (len(line.data) > 0 || line.err != nil), err == nil:
			return line
		default:
			return inputLine{err: err}
		}
	}
}

// evalCall is a line of eval's input. Keys that it does not know, such as what
// a test expects, are left to who wrote them.
type evalCall struct {
	Agent   json.RawMessage // one ruleset; null: no agent layer
	Static  json.RawMessage
	Rules   json.RawMessage // another name of Static
	Runtime [][]string      // pairs of a tool and a pattern that "always" has allowed
	Tool    string
	Args    json.RawMessage
	Values  []string // nil: those of Args
}

// evalAnswer is a line of eval's output.
type evalAnswer struct {
	Action permission.Action `json:"action"`
	Layer  permission.Layer  `json:"layer"` // layerTool: the tool refuses the arguments
	Rule   *evalRule         `json:"rule"`  // null: none decided

	// Values are the texts that were judged; of those that can only deny, the
	// one that did.
	Values []string `json:"values"`
	Reason string   `json:"reason,omitempty"` // why the tool refuses
}

type evalRule struct {
	Tool    string            `json:"tool"`
	Pattern string            `json:"pattern"`
	Action  permission.Action `json:"action"`
}

// layerTool stands where the rules were not asked.
const layerTool permission.Layer = "tool"

// eval decides one call.
func (j *judge) eval(line []byte) (any, error) {
	var call evalCall
	if err := json.Unmarshal(line, &call); err != nil {
		return nil, err
	}
	layers, err := j.evalLayers(&call)
	if err != nil {
		return nil, err
	}
	values, err := j.evalValues(&call)
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return evalAnswer{Action: permission.Deny, Layer: layerTool, Values: []string{}, Reason: refused.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	d := layers.Decide(values)
	answer := evalAnswer{Action: d.Action, Layer: d.Layer, Values: []string{}}
	if d.Rule != nil {
		answer.Rule = &evalRule{d.Rule.Tool, d.Rule.Pattern, d.Rule.Action}
	}
	for _, v := range values {
		if !v.DenyOnly || v == d.Value {
			answer.Values = append(answer.Values, v.Text)
		}
	}
	return answer, nil
}

func (j *judge) evalLayers(call *evalCall) (*permission.Layers, error) {
	var layers permission.Layers
	if call.Static != nil && call.Rules != nil {
		return nil, errors.New(`"rules" is another name of "static": give one of them`)
	}
	if call.Static == nil {
		call.Static = call.Rules
	}
	opts := &permission.ParseOptions{Home: j.ws.Home}
	if given(call.Agent) {
		agent, err := permission.ParseJSON(call.Agent, "agent", opts)
		if err != nil {
			return nil, err
		}
		layers.Agents = []*permission.Ruleset{agent}
	}
	if given(call.Static) {
		static, err := permission.ParseJSON(call.Static, "static", opts)
		if err != nil {
			return nil, err
		}
		layers.Static = static
	}
	var rules []permission.Rule
	for i, pair := range call.Runtime {
		if len(pair) != 2 {
			return nil, fmt.Errorf("runtime: want pairs [tool, pattern], got %d texts in the pair %d", len(pair), i+1)
		}
		rules = append(rules, permission.Rule{Tool: pair[0], Pattern: pair[1], Action: permission.Allow, Source: permission.Source{File: "runtime"}})
	}
	var err error
	layers.Runtime, err = permission.NewRuleset(rules...)
	return &layers, err
}

// given reports whether there is a value that is not null.
func given(raw json.RawMessage) bool { return raw != nil && !bytes.Equal(raw, []byte("null")) }

// refusal is the error of a tool that refuses its arguments.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func (j *judge) evalValues(call *evalCall) ([]permission.Value, error) {
	switch {
	case call.Tool == "":
		return nil, errors.New(`want "tool", the name of a tool`)
	case call.Values != nil && call.Args != nil:
		return nil, errors.New(`"values" stand in place of "args": give one of them`)
	case call.Values == nil && call.Args == nil:
		return nil, errors.New(`want "args" or "values"`)
	case call.Values == nil:
		values, err := j.values(call.Tool, call.Args)
		if err != nil {
			return nil, &refusal{err}
		}
		return values, nil
	case len(call.Values) == 0: // the call as such
		return []permission.Value{{Tool: call.Tool, Text: "*"}}, nil
	}
	values := make([]permission.Value, len(call.Values))
	for i, text := range call.Values {
		values[i] = permission.Value{Tool: call.Tool, Text: text}
	}
	return values, nil
}

// evalShell analyses one command line.
func (j *judge) evalShell(line []byte) (any, error) {
	var in struct{ Command string }
	if err := json.Unmarshal(line, &in); err != nil {
		return nil, err
	}
	const name = "shell_exec"
	values, err := shell.Values(permission.Workspace{Root: j.ws.Root, Home: j.ws.Home}, name, in.Command)
	if err != nil {
		return nil, err
	}
	answer := struct {
		Patterns []string `json:"patterns"` // the commands, as they are written
		Always   []string `json:"always"`
	}{[]string{}, append([]string{}, shell.AlwaysPatterns(name, values)...)}
	for _, v := range values {
		if v.Tool == name && !v.DenyOnly && v.Written != "" {
			answer.Patterns = append(answer.Patterns, v.Written)
		}
	}
	return answer, nil
}
