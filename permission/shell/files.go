package shell

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/permission"

	"github.com/agentworker/worker/permission/internal/program"
)

// opens adds the files that the words of a command name. The command is refused
// if rules deny to read one of them. What else it may open is an unknown file,
// unless all of that is known.
func (a *analysis) opens(st *state, p *program.Program, v argv) {
	if slices.Contains(p.Column(program.Files), "none") {
		return
	}
	all := p.Is(program.Files)
	pattern := p.Is(program.First) && !slices.ContainsFunc(v[1:], func(t text) bool { return program.Option(t.s, p.Column(program.First)...) })
	for i, t := range v[1:] {
		if i > 0 && p.Does == doesGit && (v[i].s == "-m" || v[i].s == "--message") {
			continue // a text
		}
		if pattern && !strings.HasPrefix(t.s, "-") && !(i > 0 && p.TakesNext(v[i].s)) {
			pattern = false
			continue
		}
		all = all && t.known && !strings.HasPrefix(t.s, "--")
		if t.known {
			a.named(st, t.s, p.Is(program.Files))
		}
	}
	if !all || st.cwd == "" {
		a.anyFile()
	}
}

// named adds the files that a word names: the word itself, if such a file
// exists or always is set, and its parts that may be files: "x" of "if=x",
// "--file=x", "-fx", "@x", "file://x" and "HEAD:x".
func (a *analysis) named(st *state, word string, always bool) {
	parts := []string{word}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		parts = append(parts, word[2:])
	}
	for i := 0; i < len(word)-1 && len(parts) < maxParts; i++ {
		if strings.IndexByte("=:,@<", word[i]) >= 0 {
			parts = append(parts, strings.TrimPrefix(word[i+1:], "//"))
		}
	}
	for i, part := range parts {
		if !filepath.IsAbs(part) {
			part = st.cwd + "/" + part
		}
		switch {
		case strings.HasPrefix(part, "/proc/") || strings.HasPrefix(part, "/dev/") && part != processFile || !a.look(2):
			a.anyFile()
			continue
		case word == "" || word[0] == '-' && i == 0 || st.cwd == "" && !filepath.IsAbs(parts[i]):
			continue
		}
		if _, err := os.Lstat(part); err != nil && !(always && i == 0) {
			continue
		}
		for _, v := range a.fileValues(readFile, part) {
			v.Kind = max(v.Kind, permission.Mentioned)
			a.add(v)
		}
	}
}

// maxParts bounds the parts of a word that may be files.
const maxParts = 20

// freeDevice leads to a file whose rules hold where it is opened.
var freeDevice = regexp.MustCompile(`^/dev/(?:null|stdin|stdout|stderr|tty|fd/[0-9]+)$`)

// redirect adds the file that a redirection opens.
func (a *analysis) redirect(st *state, r *syntax.Redirect) {
	if r.Hdoc != nil {
		a.expand(st).word(r.Hdoc)
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return
	case syntax.WordHdoc:
		a.expand(st).word(r.Word)
		return
	case syntax.DplIn, syntax.DplOut:
		if lit := r.Word.Lit(); lit != "" && strings.Trim(lit, "0123456789-") == "" {
			return // a copy of a file descriptor
		}
	}
	var tools []string
	if r.Op == syntax.RdrIn || r.Op == syntax.RdrInOut || r.Op == syntax.DplIn {
		tools = append(tools, readFile)
	}
	if r.Op != syntax.RdrIn && r.Op != syntax.DplIn {
		tools = append(tools, writeFile, editFile)
	}
	if a.plainer && (r.Op == syntax.RdrAll || r.Op == syntax.AppAll) {
		a.unknown(a.written(r), "not all shells know this redirection")
	}
	targets := argv(a.expand(st).fields(r.Word))
	path := targets.word(0)
	if path != "" && !filepath.IsAbs(path) && st.cwd != "" {
		path = st.cwd + "/" + path
	}
	certain := len(targets) == 1 && filepath.IsAbs(path) && !strings.HasPrefix(filepath.Clean(path), "/proc/")
	switch {
	case certain && freeDevice.MatchString(path):
		return
	case strings.HasPrefix(path, "/dev/tcp/") || strings.HasPrefix(path, "/dev/udp/"):
		a.unknown(a.written(r), "it opens a connection")
	}
	for _, tool := range tools {
		values := []permission.Value{{Tool: tool, Text: targets.line(), Kind: permission.Outside, Certainty: permission.Unknown, Why: "the file of the redirection is not certain: write it out"}}
		if certain {
			values = a.fileValues(tool, path)
		}
		if certain && tool == writeFile {
			st.wrote(filepath.Clean(path))
		}
		for _, v := range values {
			switch {
			case tool == editFile:
				v.Kind = max(v.Kind, permission.Mentioned)
			case tool == writeFile && filepath.IsAbs(v.Text) && v.Kind == permission.Wanted:
				v.Kind = permission.Outside
			}
			a.add(v)
		}
	}
}

// fileValues returns the values of a file; an unknown one where they cannot be
// told.
func (a *analysis) fileValues(tool, path string) []permission.Value {
	if a.look(1 + strings.Count(path, "/")) {
		if values, err := a.ws.PathValues(tool, path); err == nil {
			return values
		}
	}
	return []permission.Value{{Tool: tool, Text: path, Kind: permission.Outside, Certainty: permission.Unknown, Why: "the path cannot be followed"}}
}
