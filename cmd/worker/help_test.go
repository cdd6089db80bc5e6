package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestHelpFits: the help of every command fits into 80 columns.
func TestHelpFits(t *testing.T) {
	var look func(args []string)
	look = func(args []string) {
		code, out, said := command(t, nil, append(args, "--help")...)
		if code != 0 || said != "" {
			t.Fatalf("%v: exit status %d: %s", args, code, said)
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%v: %d columns: %s", args, n, line)
			}
		}
		_, list, _ := strings.Cut(out, "\nAvailable Commands:\n")
		list, _, _ = strings.Cut(list, "\n\n")
		for line := range strings.Lines(list) {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "  "), " ")
			if name != "" && name != "help" && name != "completion" {
				look(append(args[:len(args):len(args)], name))
			}
		}
	}
	look(nil)
}
