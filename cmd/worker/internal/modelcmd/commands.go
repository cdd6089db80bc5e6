// Package modelcmd has 'worker models': what is known of models, and the table that has it.
package modelcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/models"
	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/model/provider"
)

type commands struct{ *app.Program }

// Commands returns 'worker models'.
func Commands(program *app.Program) *cobra.Command {
	p := commands{program}
	var asJSON, wide, all bool
	cmd := &cobra.Command{
		Use:   "models [TEXT]",
		Short: "List models with their prices, windows and the date of the table",
		Long: `Prints the models of the providers that have a key here, or all known ones whose names
contain TEXT: what a million tokens of input and output cost in US dollars, the tokens of the context window and of the
longest answer, whether it takes images, and when this was so. "-" is not known.

The models that the setting providers names are among them, and those of the servers on this
machine that answer: ollama, lmstudio, llamacpp, vllm and litellm, at their usual ports.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.list(cmd.Context(), strings.Join(args, ""), all || asJSON || len(args) > 0, asJSON, wide)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the models as a JSON array")
	cmd.Flags().BoolVar(&all, "all", false, "print the models of providers without a key here, too, as --json does")
	app.RegisterWide(cmd, &wide)
	cmd.AddCommand(p.updateCommand())
	return cmd
}

// shown is a model as a JSON document.
type shown struct {
	Name   string   `json:"name"`
	Input  *float64 `json:"input,omitempty"`
	Output *float64 `json:"output,omitempty"`
	Window int64    `json:"contextWindow,omitempty"`
	Most   int64    `json:"maxOutputTokens,omitempty"`
	Vision bool     `json:"vision"`
	Date   string   `json:"date,omitempty"`
	Server string   `json:"server,omitempty"` // of one's own, which has it
}

// localTime is how long a server of one's own has to say which models it has.
const localTime = time.Second

// list prints the models whose names contain a text. Without all it leaves out those of providers
// without a key here.
func (p commands) list(ctx context.Context, text string, all, asJSON, wide bool) error {
	prices, err := app.Prices(p.Program)
	if err != nil {
		return err
	}
	known := p.Models()
	servers := known.Local(ctx, localTime)
	named, at, left := known.Named(&p.Settings), make(map[string]string), 0
	names := append(prices.Names(), named...)
	for _, s := range servers {
		for _, name := range s.Models {
			names, at[name] = append(names, name), s.Address
		}
	}
	slices.Sort(names)
	docs := []shown{}
	t := &terminal.Table{Header: []string{"MODEL", "INPUT", "OUTPUT", "WINDOW", "ANSWER", "IMAGES", "DATE"}, Drop: []string{"IMAGES", "ANSWER"}}
	for _, name := range slices.Compact(names) {
		if !strings.Contains(strings.ToLower(name), strings.ToLower(text)) {
			continue
		}
		if !all && at[name] == "" && !slices.Contains(named, name) && !p.hasKey(name) {
			left++
			continue
		}
		row := prices.Row(name)
		doc := shown{Name: name, Window: row.Window, Most: row.Output, Vision: row.Vision, Date: row.Date, Server: at[name]}
		input, output, known := prices.Rates(name)
		cells := []string{name, "-", "-", count(row.Window), count(row.Output), "-", terminal.Dash(row.Date)}
		if known {
			doc.Input, doc.Output = &input, &output
			cells[1], cells[2] = dollars(input), dollars(output)
		}
		if row.Vision {
			cells[5] = "yes"
		}
		docs = append(docs, doc)
		t.Add(cells...)
	}
	switch {
	case asJSON:
		return p.PrintJSON(docs, true)
	case len(docs) == 0 && left == 0:
		return cli.Usage(fmt.Errorf("no model has %q in its name: 'worker models' lists all", text))
	}
	if len(docs) > 0 {
		if err := p.PrintTable(t, wide); err != nil {
			return err
		}
	}
	if left > 0 {
		fmt.Fprintf(p.Stderr, "not shown: %s of providers without a key here; 'worker models TEXT' finds them, --all lists them\n", termtext.Plural(left, "model"))
	}
	if hint := models.Hint(servers); hint != "" {
		fmt.Fprintln(p.Stderr, "worker: "+termtext.Printable(hint))
	}
	return nil
}

// hasKey reports whether the provider of a model has a key here.
func (p commands) hasKey(name string) bool {
	of, _, _ := strings.Cut(name, "/")
	provider := p.Settings.Provider(of)
	return provider != nil && provider.HasKey(p.Getenv)
}

func count(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

func dollars(d float64) string { return "$" + strconv.FormatFloat(d, 'f', -1, 64) }

func (p commands) updateCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "update --from FILE",
		Short: "Add the models of a document of models.dev to the table",
		Long: `Reads a document in the form of https://models.dev/api.json, and keeps its models of the
providers that are known here in models.json beside the config file. They count before
the built-in ones; those of --prices count before both. A document that is wrong
changes nothing.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if from == "" {
				return cli.Usage(errors.New("name the document: --from FILE"))
			}
			return p.update(from)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the document")
	return cmd
}

func (p commands) update(from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	file, err := app.KeptPrices(p.Program)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	n, err := price.Update(file, from, info.ModTime().UTC().Format("2006-01-02"), provider.OfModelsDev)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	fmt.Fprintf(p.Stdout, "%d models are in %s\n", n, file)
	return nil
}
