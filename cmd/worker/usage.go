package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentworker/worker/internal/suggest"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroups are the flags that all commands share. The first group is shown in
// the help of each.
var flagGroups = []struct {
	title string
	names []string
}{
	{"Common flags", []string{"dir", "model", "timeout", "workspace"}},
	{"The workspace", []string{"state-dir", "agents-dir", "agents-from", "log-level"}},
	{"Models", []string{"model-alias", "model-timeout", "anthropic-api-key-file", "anthropic-api-key-command", "anthropic-base-url",
		"openai-api-key-file", "openai-api-key-command", "openai-base-url"}},
	{"Limits", []string{"max-depth", "approval-timeout"}},
	{"What is kept", []string{"archive-after", "retain-age", "retain-size"}},
	{"NATS", []string{"nats", "nats-creds", "nats-nkey", "nats-token-file", "nats-tls-ca", "nats-tls-cert", "nats-tls-key", "replicas"}},
	{"MCP hosts", []string{"mcp-call-limit", "mcp-result-limit", "mcp-read-only", "mcp-cancel-grace"}},
}

// pick returns the flags of the names.
func pick(flags *pflag.FlagSet, names []string) *pflag.FlagSet {
	picked := pflag.NewFlagSet("", pflag.ContinueOnError)
	picked.SortFlags = false
	for _, name := range names {
		if flag := flags.Lookup(name); flag != nil {
			picked.AddFlag(flag)
		}
	}
	return picked
}

// flagsTopic is "worker help flags": all flags that the commands share.
func flagsTopic(flags *pflag.FlagSet) *cobra.Command {
	var b strings.Builder
	b.WriteString("The flags that all commands take. Each has an environment variable (--state-dir:\n" +
		"WORKER_STATE_DIR) and a key in the config file (stateDir); a flag beats the\n" +
		"environment, which beats the file.\n")
	rest := make(map[string]bool)
	flags.VisitAll(func(flag *pflag.Flag) { rest[flag.Name] = true })
	write := func(title string, names []string) {
		if text := pick(flags, names).FlagUsagesWrapped(80); text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s", title, text)
		}
	}
	for _, group := range flagGroups {
		write(group.title, group.names)
		for _, name := range group.names {
			delete(rest, name)
		}
	}
	var others []string
	flags.VisitAll(func(flag *pflag.Flag) {
		if rest[flag.Name] {
			others = append(others, flag.Name)
		}
	})
	write("Others", others)
	return &cobra.Command{Use: "flags", Short: "All flags that the commands share", Long: strings.TrimRight(b.String(), "\n")}
}

// printUsage prints how a command is used, with its own flags and the common
// ones of all.
func printUsage(cmd *cobra.Command) error {
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
				fmt.Fprintf(&b, "  %-11s %s\n", sub.Name(), sub.Short)
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
		fmt.Fprintf(&b, "\nFlags:\n%s", own.FlagUsagesWrapped(80))
	}
	fmt.Fprintf(&b, "\n%s:\n%s", flagGroups[0].title, pick(shared, flagGroups[0].names).FlagUsagesWrapped(80))
	b.WriteString("\n\"worker help flags\" shows the other flags that all commands take.\n")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\"%s [command] --help\" says more about a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// meantCommand suggests the command that a mistyped one stands for.
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

// meantFlag suggests the flag that a mistyped one stands for.
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
