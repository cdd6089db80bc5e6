package audits

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/session/audit"
)

func (p commands) exportCommand() *cobra.Command {
	var c chosen
	var format string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the records to stdout, the oldest first",
		Long: `Writes the audit log of this workspace as JSON, a record a line. 'worker audit verify FILE'
verifies it, also where the log itself is gone, unless a filter has left records out.

With --format csv it is a table for spreadsheets. A cell that a spreadsheet would take
for a formula begins with an apostrophe.`,
		Example: `  worker audit export > audit-2026-11.jsonl
  worker audit export --format csv --outcome denied --since 30d > denied.csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := c.filter(time.Now())
			if err != nil {
				return err
			}
			write, known := formats[format]
			if !known {
				return cli.Usage(fmt.Errorf("--format %s: it is jsonl or csv", format))
			}
			return p.withLog(cmd.Context(), func(log *audit.Log) error {
				to := p.Stdout
				if format == "jsonl" {
					to = p.JSONOut()
				}
				out := bufio.NewWriter(to)
				return errors.Join(write(cmd.Context(), out, log, filter), out.Flush())
			})
		},
	}
	c.register(cmd.Flags())
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl or csv")
	return cmd
}

var formats = map[string]func(context.Context, io.Writer, *audit.Log, *audit.Filter) error{"jsonl": writeLines, "csv": writeCSV}

func writeLines(ctx context.Context, out io.Writer, log *audit.Log, f *audit.Filter) error {
	for line, err := range log.Choose(ctx, f) {
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// columns are those of the table.
var columns = []struct {
	name string
	of   func(*audit.Record) string
}{
	{"n", func(r *audit.Record) string { return strconv.FormatUint(r.N, 10) }},
	{"time", func(r *audit.Record) string { return r.Time.Format(time.RFC3339Nano) }},
	{"kind", func(r *audit.Record) string { return string(r.Kind) }},
	{"user", func(r *audit.Record) string { return r.User }},
	{"client", func(r *audit.Record) string { return r.Client }},
	{"worker", func(r *audit.Record) string { return r.Worker }},
	{"rootId", func(r *audit.Record) string { return r.RootID }},
	{"sessionId", func(r *audit.Record) string { return r.SessionID }},
	{"agent", func(r *audit.Record) string { return r.Agent }},
	{"model", func(r *audit.Record) string { return r.Model }},
	{"toolCallId", func(r *audit.Record) string { return r.ToolCallID }},
	{"tool", func(r *audit.Record) string { return r.Tool }},
	{"values", values},
	{"action", func(r *audit.Record) string { return r.Action }},
	{"layer", func(r *audit.Record) string { return string(r.Layer) }},
	{"rule", func(r *audit.Record) string { return r.Rule }},
	{"source", func(r *audit.Record) string { return r.Source }},
	{"reason", func(r *audit.Record) string { return r.Reason }},
	{"question", func(r *audit.Record) string { return r.Question }},
	{"outcome", func(r *audit.Record) string { return r.Outcome }},
	{"by", func(r *audit.Record) string { return r.By }},
	{"askedBy", func(r *audit.Record) string { return strings.Join(r.AskedBy, "\n") }},
	{"always", func(r *audit.Record) string { return strings.Join(r.Always, "\n") }},
	{"policy", func(r *audit.Record) string { return r.Policy }},
	{"hash", func(r *audit.Record) string { return r.Hash }},
}

// values returns what a call wanted, a line each.
func values(r *audit.Record) string {
	var lines []string
	for _, v := range r.Values {
		lines = append(lines, v.Tool+": "+v.Text)
	}
	if r.LeftOut > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", r.LeftOut))
	}
	return strings.Join(lines, "\n")
}

func writeCSV(ctx context.Context, out io.Writer, log *audit.Log, f *audit.Filter) error {
	w := csv.NewWriter(out)
	row := make([]string, len(columns))
	for i, c := range columns {
		row[i] = c.name
	}
	err := w.Write(row)
	for line, failed := range log.Choose(ctx, f) {
		if failed != nil {
			return failed
		}
		var r audit.Record
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("the log has a line that is no record: 'worker audit verify' shows which: %w", err)
		}
		for i, c := range columns {
			row[i] = cell(c.of(&r))
		}
		err = errors.Join(err, w.Write(row))
	}
	w.Flush()
	return errors.Join(err, w.Error())
}

// cell returns a text so that no spreadsheet takes it for a formula, and no line of it for
// the beginning of one.
func cell(text string) string {
	text = termtext.Printable(text)
	if strings.IndexAny(strings.TrimLeft(text, " "), "=+-@\t\n|%＝＋－＠") == 0 {
		return "'" + text
	}
	return text
}
