package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/agentworker/worker/permission/shell"
	"github.com/agentworker/worker/tool/internal/charset"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

// Description is what a person sees of a call before deciding on it.
type Description struct {
	Title string // what the call would do, in a line: "replace a.md". It follows "asks to"
	Parts []Part // the texts that the title does not have, in full
}

// Part is a text of a description.
type Part struct {
	Name string // "command", "changes"
	Form Form
	Text string
}

// Form says how a part is shown.
type Form string

// The forms of parts.
const (
	Text    Form = "text"
	Command Form = "command" // a command line
	Diff    Form = "diff"    // a unified diff
)

// add appends a text, unless it is empty.
func (d *Description) add(name string, form Form, text string) {
	if text != "" {
		d.Parts = append(d.Parts, Part{name, form, text})
	}
}

// DescribeArguments returns a description with a part for each argument. The title already says
// the arguments in said.
func DescribeArguments(title string, args json.RawMessage, said ...string) Description {
	d := Description{Title: title}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(args, &fields) != nil {
		d.add("arguments", Text, string(args))
		return d
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if slices.Contains(said, name) {
			continue
		}
		var text string
		if json.Unmarshal(fields[name], &text) != nil {
			var indented bytes.Buffer
			if json.Indent(&indented, fields[name], "", "  ") == nil {
				text = indented.String()
			}
		}
		d.add(name, Text, text)
	}
	return d
}

// diffOf returns what changes between two texts as a unified diff without its header.
func diffOf(before, after string) string {
	u, err := udiff.ToUnified("before", "after", before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil { // the edits are those of the text
		panic(fmt.Sprintf("a diff that does not apply: %v", err))
	}
	_, u, _ = strings.Cut(u, "\n") // --- before
	_, u, _ = strings.Cut(u, "\n") // +++ after
	return u
}

// maxDiffed bounds the texts whose difference is described, in bytes.
const maxDiffed = 4 << 20

// describeChange describes what a call makes of a file. after returns the new text for the old
// one. If it is not ok, the call will fail, and its arguments are the description.
func (ws *Workspace) describeChange(call *Call, path string, after func(before []byte) (text string, ok bool)) Description {
	rel, real, err := ws.locateFile(path)
	if err != nil {
		return DescribeArguments("change "+path, call.Args, "path")
	}
	name := rootfs.Show(rel)
	if real != rel {
		name += " (a link to " + rootfs.Show(real) + ")"
	}
	before := ws.contentOf(real)
	readable, _, isText := charset.Decode(before)
	text, ok := after(readable)
	switch {
	case !ok:
		return DescribeArguments("change "+name, call.Args, "path")
	case before == nil:
		d := Description{Title: "create " + name}
		d.add("text", Text, text)
		return d
	case call.Readable != nil && !call.Readable(real):
		d := Description{Title: "replace " + name + ", which it may not read"}
		d.add("text", Text, text)
		return d
	case !isText, int64(len(before)) == ws.opts.MaxFileBytes:
		d := Description{Title: fmt.Sprintf("replace %s, a binary or large file", name)}
		d.add("text", Text, text)
		return d
	case len(before)+len(text) > maxDiffed:
		return DescribeArguments("change "+name, call.Args, "path")
	}
	d := Description{Title: "change " + name}
	if text == "" && len(before) > 0 {
		d.Title = "empty " + name
	}
	d.add("changes", Diff, diffOf(string(readable), text))
	return d
}

// describeCommand describes a command line that begins in the folder dir of the workspace, with
// the scripts of the workspace that it names.
func (ws *Workspace) describeCommand(call *Call, a shellExecArgs, dir string) Description {
	d := Description{Title: "run a command"}
	if dir != "" {
		d.Title += " in " + rootfs.Show(dir)
	}
	d.add("command", Command, a.Command)
	if a.TimeoutSeconds > 0 {
		d.Title += fmt.Sprintf(" for up to %d s", a.TimeoutSeconds)
	}
	d.add("purpose, as the agent says", Text, a.Description)
	rules := ws.rules
	rules.Dir = filepath.Join(ws.files.Dir(), filepath.FromSlash(dir))
	for _, script := range shell.Scripts(rules, a.Command) {
		name, real, err := ws.locateFile(script)
		if err != nil {
			continue // no file of the workspace
		}
		content := ws.contentOf(real)
		switch {
		case content == nil:
		case call.Readable != nil && !call.Readable(real):
			d.add("script "+name, Text, "(the session may not read it: its text is not shown)")
		case isBinary(content):
			d.add("program "+name, Text, fmt.Sprintf("(%s that are no text, SHA-256 %s)", showSize(int64(len(content))), Hash(content)))
		default:
			d.add("script "+name, Text, string(content))
		}
	}
	return d
}
