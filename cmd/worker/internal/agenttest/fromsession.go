package agenttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/cmd/worker/internal/recording"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
)

// stored is a session that becomes a case: what was asked, answered and done.
type stored struct {
	id, agent, prompt string
	sessions          []string // it, and those below it
	normal            *recording.Normal
	script            *recording.Script
	results           map[string]result // of its calls
	texts             []string          // that may name files
}

// result is the result of a call.
type result struct {
	tool, text string
	denied     bool
}

// written is a case in the form of its file.
type written struct {
	Name      string `yaml:"name"`
	Agent     string `yaml:"agent"`
	Prompt    string `yaml:"prompt"`
	Workspace string `yaml:"workspace"`
	Approve   bool   `yaml:"approve,omitempty"`
	Expect    struct {
		Status  string   `yaml:"status"`
		Tools   []string `yaml:"tools,flow,omitempty"`
		Denials int      `yaml:"denials"`
		Changed []string `yaml:"changed,flow"`
	} `yaml:"expect"`
}

// fileName is a name of a case that makes names of files.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// fromSession writes a case into a folder of cases: the file of the case, its recording, and the
// files that the session has come to, as they were before it.
func (p commands) fromSession(ctx context.Context, paths []string, opts options) (err error) {
	ws, err := p.Workspace()
	if err != nil {
		return err
	}
	dir := folder(ws)
	if len(paths) > 0 {
		dir = paths[0]
	}
	if _, err := inRepository(ws.Root, filepath.Join(ws.Root, "x.yaml"), dir); err != nil {
		return cli.Usage(err)
	}
	var from *stored
	if err := p.WithStorage(ctx, func(s *app.Storage) (err error) {
		from, err = readSession(ctx, s, opts.session)
		return err
	}); err != nil {
		return err
	}
	name := opts.name
	if name == "" {
		name = from.agent + "-" + strings.TrimPrefix(from.id, "ses_")
	}
	if !fileName.MatchString(name) {
		return cli.Usage(fmt.Errorf("%q is no name for files: give one with --name, of letters, digits, '.', '_' and '-'", name))
	}
	w := &written{Name: name, Agent: from.agent, Prompt: from.prompt, Workspace: "workspaces/" + name, Approve: opts.approve}
	file, folder := filepath.Join(dir, name+".yaml"), filepath.Join(dir, "workspaces", name)
	for _, path := range []string{file, folder} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			return cli.Usage(errors.Join(fmt.Errorf("%s is there already: remove it, or give another --name", path), err))
		}
	}
	if err := p.writeFiles(ctx, ws, from, folder); err != nil {
		return errors.Join(err, os.RemoveAll(folder))
	}
	if err := p.writeCase(ctx, ws.Root, file, w, from); err != nil {
		return errors.Join(err, os.RemoveAll(folder), os.RemoveAll(file))
	}
	return p.test(ctx, []string{file}, options{json: opts.json, junit: opts.junit})
}

// readSession reads a session that has ended.
func readSession(ctx context.Context, s *app.Storage, id string) (*stored, error) {
	r, err := s.Records.Index.Get(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case !r.Status.Ended():
		return nil, fmt.Errorf("session %s has not ended", r.ID)
	case r.Agent == "":
		return nil, cli.Usage(fmt.Errorf("session %s is a caller's: name one of its subagents", r.ID))
	case r.Resumes != "":
		return nil, cli.Usage(fmt.Errorf("session %s goes on where %s has ended, and a case begins with a prompt: name that one", r.ID, r.Resumes))
	}
	ws := s.Workspace
	normal := recording.NewNormal(map[string]string{ws.Root: "<workspace>", ws.StateDir: "<state>"})
	from := &stored{id: r.ID, agent: r.Agent, normal: normal, script: recording.NewScript(normal, r.Model)}
	tree, err := s.Records.Index.Tree(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	for _, one := range tree {
		if err := from.add(ctx, s, r, one); err != nil {
			return nil, err
		}
	}
	if from.prompt == "" {
		return nil, fmt.Errorf("session %s has no prompt", r.ID)
	}
	from.results, err = results(ctx, s, r, normal)
	return from, err
}

// add adds the conversation of a session of the tree of root.
func (f *stored) add(ctx context.Context, s *app.Storage, root, one *record.Record) error {
	state, err := s.Records.Index.State(ctx, one.Path)
	if err != nil {
		return err
	}
	if state.Compacted {
		return fmt.Errorf("session %s was compacted, and the summary of its conversation is not among its messages: a case can't be made of it", one.ID)
	}
	all, err := s.Records.Transcripts.Messages(ctx, one.ID)
	if err != nil {
		return err
	}
	var messages []model.Message
	for _, m := range all {
		messages = append(messages, m.Message)
		f.texts = append(f.texts, m.Text)
		for _, c := range m.ToolCalls {
			f.texts = append(f.texts, c.Arguments)
		}
		for _, r := range m.ToolResults {
			f.texts = append(f.texts, r.Text)
		}
	}
	if one.ID == root.ID && len(messages) > 0 {
		messages[0].Text = strings.ReplaceAll(secrets.Mask(messages[0].Text), s.Workspace.Root, ".") // the case runs elsewhere
		f.prompt = messages[0].Text
	}
	f.sessions = append(f.sessions, one.ID)
	f.script.Add(messages)
	return nil
}

// results returns the results of the calls of a session and of those below it, by the agent and
// the call.
func results(ctx context.Context, s *app.Storage, r *record.Record, normal *recording.Normal) (map[string]result, error) {
	all := make(map[string]result)
	err := app.Follow(ctx, s.Bus, r.Path, &eventbus.FollowOptions{}, func(d eventbus.Delivery) error {
		around, ev, err := d.Event()
		key := ""
		for _, a := range around {
			key += a.AgentType + " "
		}
		if ev, ok := ev.(event.ToolCallEnd); ok {
			all[key+ev.ToolCallID] = result{ev.ToolName, secrets.Mask(normal.Text(ev.Result)), ev.Refused}
		}
		return err
	})
	return all, err
}

// writeCase makes the recording of a case, by a run that has the answers of the session, and
// writes the case.
func (p commands) writeCase(ctx context.Context, root, file string, w *written, from *stored) error {
	c, err := w.parse(root, file)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(c.Recording.V); !errors.Is(err, os.ErrNotExist) {
		return cli.Usage(errors.Join(fmt.Errorf("%s is there already: remove it, or give another --name", c.Recording.V), err))
	}
	c.script = from.script
	o, err := p.run(ctx, c, recordMode)
	if err != nil {
		return err
	}
	w.Expect.Status, w.Expect.Changed = string(o.document.Status), o.changed
	for _, call := range o.calls {
		if call.denied {
			w.Expect.Denials++
		} else if !slices.Contains(w.Expect.Tools, call.tool) {
			w.Expect.Tools = append(w.Expect.Tools, call.tool)
		}
	}
	data, err := w.text()
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return err
	}
	dir := filepath.Dir(file)
	for _, path := range []string{file, filepath.Join(dir, "recordings", filepath.Base(c.Recording.V)), filepath.Join(dir, "workspaces", w.Name)} {
		fmt.Fprintf(p.Stderr, "written: %s\n", termtext.OneLine(path, termtext.MaxReport))
	}
	fmt.Fprintln(p.Stderr, "Look through them before you share them, and say in the case what the answer must have.")
	from.compare(p, o)
	return nil
}

// text is the file of the case.
func (w *written) text() ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(w), enc.Close()); err != nil {
		return nil, err
	}
	return append(b.Bytes(), "  # contains, matches or json say what the answer must have; docs/guide/test-agents.md lists all.\n"...), nil
}

// parse returns the case of a file.
func (w *written) parse(root, file string) (*Case, error) {
	w.Expect.Status = string(record.Completed)
	data, err := w.text()
	if err != nil {
		return nil, err
	}
	all, err := Parse(root, file, data)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// compare says in which calls the run of the case differs from the session.
func (f *stored) compare(p commands, o *outcome) {
	for _, key := range slices.Sorted(maps.Keys(f.results)) {
		was, is := f.results[key], o.results[key]
		switch {
		case is == was:
		case is.tool == "":
			fmt.Fprintf(p.Stderr, "differs: the case does not make the call %s of %s\n", key, was.tool)
		case is.denied && !was.denied:
			fmt.Fprintf(p.Stderr, "differs: the call %s of %s is refused, since nobody is asked: --approve makes it again, and allows it in the case\n", key, was.tool)
		default:
			fmt.Fprintf(p.Stderr, "differs: the result of the call %s of %s\n", key, was.tool)
		}
	}
}
