//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestTutorial does what docs/tutorial.md says, as its reader would, in a new folder and
// on a terminal without colours:
//
//   - It saves each block that follows a line ending in "`FILE`:".
//   - It runs the commands of a console block, which begin with "$ ", and compares their output
//     with the lines that follow. "…" matches anything; in a line of its own it matches any
//     lines. Text after "> " is typed. A command for a second terminal runs until the end.
//   - It starts the command in the configuration for an MCP host, and makes the call that
//     follows it.
//
// Ids, addresses and times differ from those of the page. The same id on the page is the same
// id in the run.
func TestTutorial(t *testing.T) {
	t.Parallel()
	r := follow(t, "tutorial.md", "")
	for _, s := range r.open {
		s.types(keyCtrlC)
		s.ended(0)
	}
	if r.commands < 10 || r.files < 5 || r.calls != 1 {
		t.Errorf("%d commands, %d files and %d calls were found, want all", r.commands, r.files, r.calls)
	}
}

// TestCIPage follows the section of the page about CI from an empty folder to a green job.
func TestCIPage(t *testing.T) {
	t.Parallel()
	if r := follow(t, filepath.Join("guide", "ci.md"), "## From an empty repository to a green job\n"); r.commands != 3 || r.files != 3 {
		t.Errorf("%d commands and %d files were found, want all", r.commands, r.files)
	}
}

// follow does what a page says, from a heading on; empty means from its beginning.
func follow(t *testing.T, name, heading string) *reader {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), heading)
	if !found {
		t.Fatalf("%s has no %q", name, heading)
	}
	base := t.TempDir()
	dir := filepath.Join(base, "shop")
	for _, dir := range []string{dir, filepath.Join(base, "home")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r := &reader{t: t, dir: dir, env: environOf(base), names: make(map[string]string)}
	for _, m := range regexp.MustCompile("(?ms)^([^\n]*)\n\n```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		r.block(m[1], m[2], m[3])
	}
	return r
}

// reader is somebody who follows the page.
type reader struct {
	t                      *testing.T
	dir                    string
	env                    []string
	names                  map[string]string // what ids and addresses of the page are here
	host                   []string          // the command of the MCP server
	open                   []*screen         // second terminals
	commands, files, calls int
}

var (
	file    = regexp.MustCompile("`([^`]+)`:$")
	variety = regexp.MustCompile(`(?:ses|apr)_[a-z0-9]{16}|127\.0\.0\.1:\d+`)
	times   = regexp.MustCompile(`\\\[ *[0-9]+\\\.[0-9]+s\\\]|\b[0-9]+(?:\\\.[0-9]+)?m?s\b`)
)

// block does what a block of the page says. above is the line before it.
func (r *reader) block(above, language, text string) {
	r.t.Helper()
	switch name := file.FindStringSubmatch(above); {
	case name != nil:
		r.files++
		path := filepath.Join(r.dir, name[1])
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	case language == "console":
		for command := range strings.SplitSeq("\n"+text, "\n$ ") {
			if command, output, ok := strings.Cut(command, "\n"); ok {
				r.run(command, output, strings.Contains(above, "second terminal"))
			}
		}
	case language == "json" && r.host == nil:
		var config struct {
			Servers map[string]struct {
				Command string   `json:"command"`
				Args    []string `json:"args"`
			} `json:"mcpServers"`
		}
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			r.t.Fatal(err)
		}
		r.host = append([]string{config.Servers["worker"].Command}, config.Servers["worker"].Args...)
	case language == "json":
		r.call(text)
	}
}

// run runs a command and compares what it prints.
func (r *reader) run(command, output string, second bool) {
	r.t.Helper()
	r.commands++
	output = strings.TrimSuffix(output, "\n") + "\n"
	if second {
		command = "exec " + command // so that Ctrl-C ends it
	}
	command = variety.ReplaceAllStringFunc(command, func(name string) string { return r.names[name] })
	command = strings.Replace(command, "worker serve", "worker serve --listen 127.0.0.1:0", 1) // others may use its port
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = append(r.env, "TERM=linux", "NO_COLOR=1")
	s := onScreenOf(r.t, r.dir, 300, 100, cmd)
	for part := range strings.SplitAfterSeq(output, "> y\n") {
		if before, ok := strings.CutSuffix(part, "y\n"); ok {
			_, question, _ := cutLast(before, "\n")
			s.sees(regexp.QuoteMeta(strings.TrimRight(question, " ")))
			s.types("y\n")
		}
	}
	pattern, names := r.pattern(output)
	if second {
		s.sees(strings.ReplaceAll(pattern, "\n", ` *\n`))
		r.open = append(r.open, s)
	} else {
		<-s.end
		_ = s.cmd.Wait() // the page says it if it is not 0
	}
	text, _ := s.shown()
	text = regexp.MustCompile(` +\n`).ReplaceAllString(strings.TrimRight(text, " \n")+"\n", "\n")
	if !second {
		pattern += `\z`
	}
	m := regexp.MustCompile(`\A` + pattern).FindStringSubmatch(text)
	if m == nil {
		r.t.Errorf("$ %s\n%s\nthe page has\n%s", command, text, output)
		return
	}
	for i, name := range names {
		r.names[name] = m[i+1]
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// pattern returns a pattern that matches an output of the page, and the names of its groups.
func (r *reader) pattern(output string) (pattern string, names []string) {
	pattern = regexp.QuoteMeta(output)
	pattern = times.ReplaceAllStringFunc(pattern, func(time string) string {
		if strings.HasPrefix(time, `\[`) {
			return `\[ *[0-9.]+s\]`
		}
		return `[0-9.]+m?s`
	})
	pattern = regexp.MustCompile(`(?m)^…\n`).ReplaceAllLiteralString(pattern, `(?:.*\n)*?`)
	pattern = strings.ReplaceAll(pattern, "…", `.*`)
	for _, name := range variety.FindAllString(output, -1) {
		quoted, known := regexp.QuoteMeta(name), r.names[name]
		if known != "" {
			pattern = strings.Replace(pattern, quoted, regexp.QuoteMeta(known), 1)
			continue
		}
		kind := `127\.0\.0\.1:[0-9]+`
		if prefix, _, id := strings.Cut(name, "_"); id {
			kind = prefix + `_[a-z0-9]{16}`
		}
		pattern = strings.Replace(pattern, quoted, `(`+kind+`)`, 1)
		names = append(names, name)
	}
	return pattern, names
}

// call has an MCP host make the call of the page.
func (r *reader) call(text string) {
	r.t.Helper()
	r.calls++
	var arguments map[string]any
	if err := json.Unmarshal([]byte(text), &arguments); err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(r.host[0], r.host[1:]...)
	cmd.Dir, cmd.Env = r.dir, r.env
	client := mcp.NewClient(&mcp.Implementation{Name: "tutorial", Version: "1"}, nil)
	session, err := client.Connect(r.t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	result, err := session.CallTool(r.t.Context(), &mcp.CallToolParams{Name: "task", Arguments: arguments})
	if err != nil {
		r.t.Fatal(err)
	}
	if text := result.Content[0].(*mcp.TextContent).Text; result.IsError || !strings.Contains(text, "server.go:9") {
		r.t.Errorf("the host is told %q", text)
	}
	if err := session.Close(); err != nil {
		r.t.Error(err)
	}
}
