package agentdefs

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path"
	"strings"
)

// parsed is what one file amounts to. It depends on nothing but the file's
// bytes, its path and the options, so an unchanged file need not be read again.
type parsed struct {
	file string
	// name is the agent's name, also where the file is refused: then no other
	// definition may quietly stand in for the one its author restricted.
	// Empty: the file is no agent.
	name         string
	line, column int         // of the name, or of the frontmatter
	def          *Definition // nil: none to serve
	disabled     bool        // the file switches its name off
	bare         bool        // there is no frontmatter
	empty        bool        // there is nothing at all, or only the NULs that a crash may leave
	diagnostics  []Diagnostic

	// digest is that of def; nil only where def is.
	digest func() [sha256.Size]byte
}

// parser holds the state of reading one file.
type parser struct {
	file    string
	opts    *Options
	dialect origin
	damaged bool // text holds U+FFFD in place of what could not be decoded
	refused bool // an error: nothing is served from this file
	out     []Diagnostic
}

// parse reads one agent file. It is pure: no input panics, blocks or takes
// longer than linear time in its size allows for.
func parse(file string, data []byte, opts *Options) parsed {
	p := &parser{file: file, opts: opts}
	p.dialect, _ = dialect(file)
	res := parsed{file: file}
	if head, ok := p.head(p.text(data)); ok {
		p.definition(head, &res)
	} else if p.refused {
		res.name = fileName(file)
	} else {
		res.bare, res.empty = true, len(bytes.Trim(data, "\x00 \t\r\n")) == 0
		if res.empty && !quietWithoutFrontmatter(file) {
			res.name = fileName(file) // the rest may never have been written
		}
	}
	if p.refused {
		res.def = nil
	}
	if res.def != nil {
		res.digest = digestOf(res.def, opts.Home)
	}
	res.diagnostics = p.out
	return res
}

// report adds a diagnostic whose severity is that of its code. Column 0 is the
// line as a whole.
func (p *parser) report(code string, line, column int, fix, format string, args ...any) {
	column = max(column, 1)
	p.out = append(p.out, Diagnostic{
		File: p.file, Line: line, Column: column,
		Severity: severities[code], Code: code, Message: fmt.Sprintf(format, args...), Fix: fix,
	})
}

// refuse reports an error and keeps the file from being served.
func (p *parser) refuse(code string, line, column int, fix, format string, args ...any) {
	p.refused = true
	p.report(code, line, column, fix, format, args...)
}

// fileName is the name that a file gives an agent which has none of its own.
func fileName(file string) string {
	o, name := dialect(file)
	if !o.pathName {
		name = path.Base(name)
	}
	if ext := path.Ext(name); ext == ".md" || ext == o.format {
		name = strings.TrimSuffix(name, ext)
	}
	return strings.TrimSuffix(name, ".agent")
}

// quietWithoutFrontmatter reports whether a file is likely to be documentation
// beside the agents: README, CLAUDE, AGENTS, all capitals, or a leading "_".
func quietWithoutFrontmatter(file string) bool {
	name := fileName(file)
	if strings.HasPrefix(name, "_") || strings.HasPrefix(strings.ToUpper(name), "README") {
		return true
	}
	return name == strings.ToUpper(name) && name != strings.ToLower(name)
}
