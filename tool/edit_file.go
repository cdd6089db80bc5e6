package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool/internal/charset"
	"github.com/agentworker/worker/tool/internal/rootfs"
)

type editFileArgs struct {
	Path       string     `json:"path" jsonschema:"The file to change: a path relative to the workspace, or an absolute one inside it."`
	OldText    *string    `json:"oldText,omitempty" jsonschema:"The text to replace, exactly as it stands in the file, white space included, without line numbers. It must occur exactly once: add lines around it until it does, or set replaceAll."`
	NewText    *string    `json:"newText,omitempty" jsonschema:"The text to put in its place. Empty: oldText is removed."`
	ReplaceAll bool       `json:"replaceAll,omitempty" jsonschema:"Replace every occurrence of oldText. Default: false."`
	Edits      []textEdit `json:"edits,omitempty" jsonschema:"Several edits of the file, instead of oldText and newText. Each is made to what the one before has left. If one of them fails, none is made."`
}

// textEdit is one replacement.
type textEdit struct {
	OldText    string `json:"oldText" jsonschema:"As oldText of a single edit."`
	NewText    string `json:"newText" jsonschema:"As newText of a single edit."`
	ReplaceAll bool   `json:"replaceAll,omitempty" jsonschema:"As replaceAll of a single edit."`
}

// maxEdits is how many edits a call may have.
const maxEdits = 100

// list returns the edits of a call.
func (a editFileArgs) list() ([]textEdit, error) {
	one := a.OldText != nil || a.NewText != nil
	switch {
	case one && len(a.Edits) > 0:
		return nil, errors.New("give either oldText and newText, or edits")
	case len(a.Edits) > maxEdits:
		return nil, fmt.Errorf("%d edits: a call may have %d", len(a.Edits), maxEdits)
	case len(a.Edits) > 0:
		return a.Edits, nil
	case a.OldText == nil:
		return nil, errors.New(`the key "oldText" is missing`)
	case a.NewText == nil:
		return nil, errors.New(`the key "newText" is missing`)
	}
	return []textEdit{{*a.OldText, *a.NewText, a.ReplaceAll}}, nil
}

func editFile(ws *Workspace) Tool {
	return &function[editFileArgs]{
		spec: Spec{
			Name: toolcatalog.EditFile,
			Description: "Changes a part of a text file of the workspace: replaces oldText, which must occur exactly once, with newText, " +
				"or all occurrences with replaceAll. With edits it makes several changes of the file in one call. Read the file first. " +
				"Line ends (LF or CRLF), a byte order mark and the mode are kept; write \\n in both texts. If it fails, nothing has changed.",
			InputSchema:  schemaFor[editFileArgs](),
			TellsChanges: true,
			Local:        true,
		},
		values: func(a editFileArgs) ([]permission.Value, error) {
			values, err := ws.editValues(a.Path)
			return ws.withAgentFiles(values, func(real string) ([]byte, error) {
				after, _, err := ws.edited(ws.contentOf(real), a)
				return after, err
			}), err
		},
		describe: func(call *Call, a editFileArgs) Description {
			return ws.describeChange(call, a.Path, func(before []byte) (string, bool) {
				after, _, err := replaceTexts(before, a, ws.opts.MaxFileBytes)
				return string(after), err == nil
			})
		},
		run: ws.edit,
	}
}

// editValues is what an edit of p wants. Its outcome tells whether oldText is in
// the file, so a rule that denies reading the file denies editing it; no rule
// has to allow the reading.
func (ws *Workspace) editValues(p string) ([]permission.Value, error) {
	values, err := ws.filePathValues(toolcatalog.EditFile, p)
	if err != nil {
		return nil, err
	}
	reads, err := ws.filePathValues(toolcatalog.ReadFile, p)
	if err != nil {
		return nil, err
	}
	for _, v := range reads {
		if !v.OnlyDenies() {
			v.Kind = permission.Mentioned
		}
		values = append(values, v)
	}
	return values, nil
}

func (ws *Workspace) edit(ctx context.Context, call *Call, a editFileArgs) (Result, error) {
	unlock, err := ws.lockNames()
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	rel, real, err := ws.locateFile(a.Path)
	if err != nil {
		return Result{}, err
	}
	before, err := ws.readWhole(call, toolcatalog.EditFile, real)
	if err != nil {
		return Result{}, err
	}
	if err := ws.changes.CheckEdit(call.SessionID, call.Began, real, Hash(before)); err != nil {
		return Result{}, err
	}
	after, places, err := ws.edited(before, a)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", rootfs.Show(rel), err)
	}
	changed, err := ws.commit(ctx, call, []fileChange{{path: real, before: before, existed: true, after: after, exists: true, edited: true}})
	if err != nil {
		return Result{}, err
	}
	n, at := 0, make([]string, len(places))
	for i, p := range places {
		n += p.n
		at[i] = showLines(p.lines, p.n)
	}
	return Result{
		Text:    fmt.Sprintf("replaced %s in %s, at %s", termtext.Plural(n, "occurrence"), rootfs.Show(rel), strings.Join(at, "; ")),
		Meta:    map[string]any{"path": rel, "replaced": n},
		Changes: changed,
	}, nil
}

// readWhole reads a file that is not over the size limit. A nil call means that nothing is judged.
func (ws *Workspace) readWhole(call *Call, tool, real string) ([]byte, error) {
	open := ws.files.OpenFile
	if call != nil {
		open = func(real string) (*os.File, fs.FileInfo, error) { return ws.openJudged(call, tool, real) }
	}
	f, info, err := open(real)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	limit := ws.opts.MaxFileBytes
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, rootfs.PathError(real, err)
	case int64(len(content)) > limit:
		return nil, fmt.Errorf("%s has %s, more than the %s that can be edited", rootfs.Show(real), showSize(info.Size()), showSize(limit))
	}
	return content, nil
}

// errNoText is the error of an edit of a file that is no text.
var errNoText = errors.New("it is a binary file and cannot be edited as text")

// edited is replaceTexts for the content of a file, whatever charset that is in.
func (ws *Workspace) edited(content []byte, a editFileArgs) (after []byte, at []places, err error) {
	text, stored, ok := charset.Decode(content)
	if !ok {
		return nil, nil, errNoText
	}
	if after, at, err = replaceTexts(text, a, ws.opts.MaxFileBytes); err != nil {
		return nil, nil, err
	}
	after, err = stored.Encode(after)
	return after, at, err
}

// places are where an edit has replaced its text: n places, of which the lines of the first
// maxPlaces are there.
type places struct {
	n     int
	lines []int
}

// replaceTexts makes the edits of a call, one after the other.
func replaceTexts(content []byte, a editFileArgs, limit int64) (after []byte, at []places, err error) {
	edits, err := a.list()
	if err != nil {
		return nil, nil, err
	}
	for i, e := range edits {
		var p places
		if content, p.n, p.lines, err = replaceText(content, e, limit); err != nil {
			if len(edits) > 1 {
				err = fmt.Errorf("edit %d of %d: %w; none is made", i+1, len(edits), err)
			}
			return nil, nil, err
		}
		at = append(at, p)
	}
	return content, at, nil
}

// replaceText replaces a.OldText, which must occur exactly once unless a.ReplaceAll is
// set. It returns how often it stood there, and at which lines: the first maxPlaces of
// them. In a file with CRLF line ends, the line feeds of both texts mean CRLF. In a
// file with both kinds, OldText is first looked for unchanged. A result of more than
// limit bytes is refused before it is made.
func replaceText(content []byte, a textEdit, limit int64) (after []byte, n int, lines []int, err error) {
	old, new := a.OldText, a.NewText
	bom := content[:0:0]
	if rest, ok := bytes.CutPrefix(content, utf8BOM); ok {
		bom, content = content[:len(utf8BOM):len(utf8BOM)], rest
		old, new = strings.TrimPrefix(old, string(utf8BOM)), strings.TrimPrefix(new, string(utf8BOM))
	}
	crlf, lf := bytes.Count(content, []byte("\r\n")), bytes.Count(content, []byte("\n"))
	if crlf > 0 && (crlf == lf || !bytes.Contains(content, []byte(old))) {
		old, new = toCRLF(old), toCRLF(new)
	}
	switch {
	case old == "":
		return nil, 0, nil, errors.New("oldText is empty: use write_file to give a file new content")
	case old == new:
		return nil, 0, nil, errors.New("oldText and newText are the same: nothing to change")
	}
	at := occurrences(content, []byte(old), a.ReplaceAll)
	lines = lineNumbers(content, at)
	switch {
	case len(at) == 0:
		return nil, 0, nil, notFound(content, old)
	case len(at) > 1 && !a.ReplaceAll:
		least := ""
		if len(at) == maxPlaces {
			least = "at least "
		}
		return nil, 0, nil, fmt.Errorf("oldText occurs %s%d times, at %s: add lines around it until it is unique, or set replaceAll", least, len(at), showLines(lines, len(at)))
	}
	n = bytes.Count(content, []byte(old)) // as occurrences has it, but without an end
	room := limit - int64(len(bom)+len(content))
	if grows := int64(len(new) - len(old)); grows > 0 && int64(n) > room/grows {
		return nil, 0, nil, fmt.Errorf("with %s replaced the file would have more than %s, the most that a file may have: nothing has changed; use a shorter newText or replace fewer", termtext.Plural(n, "occurrence"), showSize(limit))
	}
	return append(bom, bytes.ReplaceAll(content, []byte(old), []byte(new))...), n, lines, nil
}

// maxPlaces is how many occurrences are looked at one by one.
const maxPlaces = 1000

// occurrences returns where old is in content, up to maxPlaces places. Unless all is
// set, overlapping ones count as well: it is unknown which one is meant.
func occurrences(content, old []byte, all bool) []int {
	var at []int
	step := 1
	if all {
		step = len(old)
	}
	for from := 0; len(at) < maxPlaces; {
		i := bytes.Index(content[from:], old)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + step
	}
	return at
}

// lineNumbers returns the numbers of the lines at the offsets at, which ascend.
func lineNumbers(content []byte, at []int) []int {
	lines := make([]int, len(at))
	line, from := 1, 0
	for i, offset := range at {
		line += bytes.Count(content[from:offset], []byte{'\n'})
		lines[i], from = line, offset
	}
	return lines
}

// showLines returns "line 3" or "lines 3, 8, 12", ten at most, of n lines of
// which the first are given.
func showLines(lines []int, n int) string {
	if n == 1 {
		return fmt.Sprintf("line %d", lines[0])
	}
	var b strings.Builder
	shown := min(len(lines), 10)
	for i, line := range lines[:shown] {
		b.WriteString([]string{"lines ", ", "}[min(i, 1)])
		fmt.Fprint(&b, line)
	}
	if n > shown {
		fmt.Fprintf(&b, " and %d more", n-shown)
	}
	return b.String()
}

// notFound is the error of an oldText that is not in the file. If only white space at
// the ends of lines differs, the error says that. Large texts are not searched for
// this, because it would take long.
func notFound(content []byte, old string) error {
	const maxContent, maxOld = 1 << 20, 16 << 10
	if want := bytes.TrimSpace([]byte(old)); len(want) > 0 && len(old) <= maxOld && len(content) <= maxContent {
		want, have := trimmedLines(want), trimmedLines(content)
		for i := 0; i+len(want) <= len(have); i++ {
			if slices.EqualFunc(have[i:i+len(want)], want, bytes.Equal) {
				return fmt.Errorf("oldText does not occur; the text at line %d differs from it only in white space: read that part again and copy it exactly", i+1)
			}
		}
	}
	return errors.New("oldText does not occur: read the file again and copy the text exactly, without line numbers")
}

func trimmedLines(text []byte) [][]byte {
	lines := bytes.Split(text, []byte{'\n'})
	for i, line := range lines {
		lines[i] = bytes.TrimSpace(line)
	}
	return lines
}

func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}
