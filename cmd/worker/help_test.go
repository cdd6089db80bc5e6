package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestHelpFits: the help of every command fits into 80 columns, and the documentation
// has each command.
func TestHelpFits(t *testing.T) {
	var pages []byte
	for _, folder := range []string{"guide", "reference"} {
		names, err := filepath.Glob(filepath.Join("..", "..", "docs", folder, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			page, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, page...)
		}
	}
	var look func(args []string)
	look = func(args []string) {
		code, out, output := command(t, nil, append(args, "--help")...)
		if code != 0 || output != "" {
			t.Fatalf("%v: exit status %d: %s", args, code, output)
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%v: %d columns: %s", args, n, line)
			}
		}
		pattern := `\bworker`
		for _, arg := range args {
			pattern += `\b.*\b` + arg + `\b`
		}
		if !regexp.MustCompile(pattern).Match(pages) {
			t.Errorf("docs do not have 'worker %s'", strings.Join(args, " "))
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
