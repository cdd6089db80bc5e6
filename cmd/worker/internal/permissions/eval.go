package permissions

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
)

func (p commands) evalCommand() *cobra.Command {
	var shell bool
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Decide calls that are read from stdin, a JSON object a line",
		Long: `eval reads JSON lines from stdin and writes a line for each, as soon as it has it:

  {"agent": RULES|null, "static": RULES, "runtime": [[TOOL, PATTERN]...],
   "policy": RULES|null, "agentName": NAME, "unattended": BOOL,
   "tool": NAME, "args": {...}}
  {"action": "allow|ask|deny",
   "layer": "policy|agent|static|runtime|default|tool", "rule": {...}|null,
   "values": [...]}

RULES are in the form of permissions.jsonc, or an ordered list of pairs; "agentName" and
"unattended" choose their blocks, and may be left out. "values"
instead of "args" are the texts to decide on; args become values as the tool itself
says, in the workspace of --dir. Of a line of the shell, "held" names the files
that rules deny and that the sandbox keeps from it. With --shell it reads {"command"} and writes
{"patterns", "always"}: the commands of a line, and what "always" would allow.

A line that cannot be read is answered by {"error": "line N: ..."}, and the exit
status is 1 at the end.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.evaluate(func(e *evaluator) error {
				answer := e.decide
				if shell {
					answer = e.analyse
				}
				return p.answerLines(cmd.Context(), answer)
			})
		},
	}
	cmd.Flags().BoolVar(&shell, "shell", false, "analyse command lines instead: {\"command\"} to {\"patterns\", \"always\"}")
	return cmd
}

// MaxLine bounds a line that 'worker permission eval' reads, in bytes.
const MaxLine = 16 << 20

// inputLine is a line of stdin. With err it is the last, or one that is too long.
type inputLine struct {
	data []byte
	err  error
}

var errLongLine = fmt.Errorf("the line is longer than %d bytes", MaxLine)

// answerLines answers each line of stdin by a line of stdout, which is flushed
// when no further line is at hand. Blank lines are skipped.
func (p commands) answerLines(ctx context.Context, answer func(line []byte) (any, error)) error {
	lines := make(chan inputLine, 64)
	go readLines(ctx, p.Stdin, lines)
	out := bufio.NewWriter(p.JSONOut())
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
				return cli.Failed
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
		if len(line.data)+len(part) > MaxLine {
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
