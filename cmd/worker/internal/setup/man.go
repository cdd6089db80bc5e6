package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentworker/worker/cmd/worker/internal/app"
)

// Man returns 'worker man'.
func Man(program *app.Program) *cobra.Command {
	p := commands{program}
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `Writes a page of section 1 for each command into a folder: worker.1, worker-task.1 and
so on. 'man -l DIR/worker.1' shows one.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			n, err := writePages(cmd.Root(), args[0])
			if err == nil {
				_, err = fmt.Fprintf(p.Stdout, "wrote %d pages\n", n)
			}
			return err
		},
	}
}

// writePages writes the pages of a command and of those below it.
func writePages(cmd *cobra.Command, dir string) (n int, err error) {
	cmd.InitDefaultHelpFlag()
	file := filepath.Join(dir, pageName(cmd)+".1")
	if err := os.WriteFile(file, []byte(page(cmd)), 0o644); err != nil {
		return 0, err
	}
	n = 1
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		below, err := writePages(sub, dir)
		if err != nil {
			return 0, err
		}
		n += below
	}
	return n, nil
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page returns the page of a command, in the language of man(7).
func page(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"worker %s\"\n", roff(strings.ToUpper(pageName(cmd))), roff(app.Version()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(cmd)), roff(cmd.Short))
	if cmd.Runnable() {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	}
	if cmd.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", paragraphs(cmd.Long))
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s.fi\n", lines(cmd.Example))
	}
	flags(&b, "OPTIONS", cmd.NonInheritedFlags())
	var related []string
	if cmd.HasParent() {
		related = append(related, pageName(cmd.Parent()), "worker-flags")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			related = append(related, pageName(sub))
		}
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n")
	for i, name := range related {
		comma := ","
		if i == len(related)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, ".BR %s (1)%s\n", roff(name), comma)
	}
	return b.String()
}

// flags writes a section with flags, where there are any.
func flags(b *strings.Builder, title string, set *pflag.FlagSet) {
	begun := false
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if !begun {
			fmt.Fprintf(b, ".SH %s\n", title)
			begun = true
		}
		kind, text := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR \\fI%s\\fR\n%s\n", roff(name), roff(kind), roff(text))
	})
}

// paragraphs returns a text whose empty lines end paragraphs, and whose indented lines stay.
func paragraphs(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
			b.WriteString(".PP\n")
		case line[0] == ' ':
			fmt.Fprintf(&b, ".br\n%s\n", roff(line))
		default:
			fmt.Fprintf(&b, "%s\n", roff(line))
		}
	}
	return b.String()
}

// lines returns lines that stay as they are.
func lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text + "\n") {
		b.WriteString(roff(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// roff returns a line as text: nothing in it is a request or an escape.
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	var b strings.Builder
	for _, r := range line {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}
