// Package cli is how the program presents its commands: their help, the statuses that
// they exit with, and what a mistyped word was meant to be.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentworker/worker/cmd/worker/internal/settings"
	"github.com/agentworker/worker/internal/suggest"
)

// width is how many columns help takes.
const width = 80

// Help prints what a command does, and how it is used.
func Help(cmd *cobra.Command) error {
	text := cmp.Or(strings.TrimSpace(cmd.Long), cmd.Short)
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", fill(text, "", ""), cmd.UsageString())
	return err
}

// fill breaks the lines of a text anew. Lines that begin with a blank stay unbroken. first
// begins the first line, and rest the others.
func fill(text, first, rest string) string {
	var lines []string
	var words []string // of the paragraph
	flush := func() {
		for line := first; len(words) > 0; line = rest {
			start := line
			for len(words) > 0 && (line == start || utf8.RuneCountInString(line)+utf8.RuneCountInString(words[0]) <= width) {
				line += words[0] + " "
				words = words[1:]
			}
			lines = append(lines, strings.TrimRight(line, " "))
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			flush()
			lines = append(lines, line)
			continue
		}
		words = append(words, strings.Fields(line)...)
	}
	flush()
	return strings.Join(lines, "\n")
}

// FlagsTopic is "worker help flags": all flags that the commands share.
func FlagsTopic(groups []settings.Group) *cobra.Command {
	var b strings.Builder
	b.WriteString("The flags that all commands take. Each has an environment variable (--state-dir:\n" +
		"WORKER_STATE_DIR) and a key in the config file (stateDir); a flag beats the\n" +
		"environment, which beats the file.\n")
	for _, group := range groups {
		fmt.Fprintf(&b, "\n%s:\n%s", group.Title, group.Flags.FlagUsagesWrapped(width))
	}
	return &cobra.Command{Use: "flags", Short: "All flags that the commands share", Long: strings.TrimRight(b.String(), "\n")}
}

// PrintUsage prints how a command is used: its own flags, and the common ones of all
// commands.
func PrintUsage(cmd *cobra.Command, common settings.Group) error {
	w := cmd.OutOrStderr()
	if cmd.IsAdditionalHelpTopicCommand() {
		return nil
	}
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintln(&b, fill(sub.Short, fmt.Sprintf("  %-11s ", sub.Name()), strings.Repeat(" ", 14)))
			}
		}
	}
	shared := cmd.Root().PersistentFlags()
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if shared.Lookup(flag.Name) == nil {
			own.AddFlag(flag)
		}
	})
	if own.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nFlags:\n%s", own.FlagUsagesWrapped(width))
	}
	fmt.Fprintf(&b, "\n%s:\n%s", common.Title, common.Flags.FlagUsagesWrapped(width))
	b.WriteString("\n\"worker help flags\" shows the other flags that all commands take.\n")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\"%s [command] --help\" says more about a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// meantCommand suggests a command for a mistyped one.
func meantCommand(cmd *cobra.Command, args []string) string {
	if len(args) == 0 || !cmd.HasSubCommands() {
		return ""
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(append(names, sub.Name()), sub.Aliases...)
		}
	}
	return suggest.DidYouMean(args[0], names)
}

// meantFlag suggests a flag for a mistyped one.
func meantFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	if near := suggest.Nearest(unknown.GetSpecifiedName(), names); near != "" && len(unknown.GetSpecifiedName()) > 1 {
		return fmt.Sprintf(" (did you mean \"--%s\"?)", near)
	}
	return ""
}

// Group returns a command that only holds others.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// Finish completes a tree of commands: an error in their arguments is an error of use, and a
// command without arguments completes no names of files.
func Finish(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		Finish(sub)
	}
	check := cmd.Args
	if check == nil {
		return
	}
	if cmd.ValidArgsFunction == nil && check(cmd, []string{"x"}) != nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Usage(fmt.Errorf("%w%s (see '%s --help')", err, meantCommand(cmd, args), cmd.CommandPath()))
		}
		return nil
	}
}

// CompleteFlag completes the values of a flag for the shell.
func CompleteFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // there is no such flag
	}
}

// FlagError makes an error in the flags of a command an error of use.
func FlagError(cmd *cobra.Command, err error) error {
	return Usage(fmt.Errorf("%w%s (see '%s --help')", err, meantFlag(cmd, err), cmd.CommandPath()))
}
