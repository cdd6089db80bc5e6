package policy

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/permission"
)

// reader reads one file into a policy.
type reader struct {
	policy *Policy
	file   string
	text   []byte
}

// keys are the keys of a policy file.
var keys = func() map[string]func(r *reader, v *hujson.Value) error {
	all := map[string]func(r *reader, v *hujson.Value) error{
		"rules":        (*reader).rules,
		"secondPerson": (*reader).secondPerson,
		"always":       (*reader).always,
		"limits":       (*reader).limits,
		"budget":       (*reader).budget,
		"sandbox":      (*reader).sandboxed,
		"maskForModel": (*reader).masked,

		mcpServers.allowed(): serversOf(mcpServers, false),
		mcpServers.denied():  serversOf(mcpServers, true),
		lspServers.allowed(): serversOf(lspServers, false),
		lspServers.denied():  serversOf(lspServers, true),
	}
	for _, k := range kinds {
		all[string(k.kind)] = listOf(k.kind, k.what, k.names)
	}
	return all
}()

// add adds what a file says.
func (p *Policy) add(f *File) error {
	r := &reader{policy: p, file: f.Path, text: bytes.TrimPrefix(f.text, []byte("\uFEFF"))}
	root, err := hujson.Parse(r.text)
	if err != nil { // the parser of rules tells the same, with its place
		if _, err := permission.ParseJSON(f.text, f.Path, nil); err != nil {
			return err
		}
		return &permission.SyntaxError{Source: permission.Source{File: f.Path}, Reason: err.Error(), Err: err}
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return r.refuse(&root, "want an object with the keys %s", strings.Join(known(), ", "))
	}
	if err := r.once(object); err != nil {
		return err
	}
	for i := range object.Members {
		m := &object.Members[i]
		name := m.Name.Value.(hujson.Literal).String()
		read := keys[name]
		if read == nil {
			return r.refuse(&m.Name, "unknown key %q%s (known: %s)", name, suggest.DidYouMean(name, known()), strings.Join(known(), ", "))
		}
		if err := read(r, &m.Value); err != nil {
			return err
		}
	}
	return nil
}

// once refuses an object with a key that is there twice: nothing says which of
// the two is meant.
func (r *reader) once(object *hujson.Object) error {
	seen := make(map[string]bool)
	for i := range object.Members {
		name := object.Members[i].Name.Value.(hujson.Literal).String()
		if seen[name] {
			return r.refuse(&object.Members[i].Name, "%q is given twice: write it once", name)
		}
		seen[name] = true
	}
	return nil
}

func known() []string { return slices.Sorted(maps.Keys(keys)) }

// at returns where a value is.
func (r *reader) at(v *hujson.Value) permission.Source {
	before := r.text[:min(v.StartOffset, len(r.text))]
	return permission.Source{File: r.file, Line: 1 + bytes.Count(before, []byte("\n")), Column: len(before) - bytes.LastIndexByte(before, '\n')}
}

func (r *reader) refuse(v *hujson.Value, format string, args ...any) error {
	return &permission.SyntaxError{Source: r.at(v), Reason: fmt.Sprintf(format, args...)}
}

// rules reads rules in the form of permissions.jsonc.
func (r *reader) rules(v *hujson.Value) error {
	rules, err := r.ruleset(v)
	if err == nil {
		r.policy.rules.add(rules)
	}
	return err
}

// secondPerson reads the rules of "secondPerson". A call that one of them asks about has to
// be approved by a second person.
func (r *reader) secondPerson(v *hujson.Value) error {
	rules, err := r.ruleset(v)
	if err != nil {
		return err
	}
	var strict []permission.Rule
	for rule := range rules.Rules() {
		if rule.Action == permission.Deny {
			return &permission.SyntaxError{Source: rule.Source, Reason: fmt.Sprintf("secondPerson: %v: what is denied nobody approves: write it below \"rules\"", rule)}
		}
		if rule.Action == permission.Ask {
			rule.Action = permission.Deny
		}
		strict = append(strict, rule)
	}
	second, err := permission.NewRuleset(strict...)
	if err != nil {
		return err
	}
	r.policy.rules.add(rules)
	r.policy.second.add(second)
	return nil
}

// ruleset reads rules in the form of permissions.jsonc.
func (r *reader) ruleset(v *hujson.Value) (*permission.Ruleset, error) {
	// What stands before and behind is blanked: places stay what they are in the file.
	text := slices.Clone(r.text[:min(v.EndOffset, len(r.text))])
	for i := range text[:v.StartOffset] {
		if text[i] != '\n' {
			text[i] = ' '
		}
	}
	home, err := homeFolder()
	if err != nil && (bytes.Contains(text, []byte("~/")) || bytes.Contains(text, []byte("$HOME/"))) {
		return nil, r.refuse(v, "the home folder of this user is not known (%v): write absolute paths", err)
	}
	return permission.ParseJSON(text, r.file, &permission.ParseOptions{Home: home})
}

// homeFolder returns the home folder as the system knows it: a variable of the environment
// must not say which files a rule is about.
func homeFolder() (string, error) {
	u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil || u.HomeDir == "" {
		return "/nonexistent", fmt.Errorf("no entry of the user %d: %w", os.Geteuid(), err)
	}
	return u.HomeDir, nil
}

// always reads whether an answer may add a rule that lasts.
func (r *reader) always(v *hujson.Value) error {
	switch v.Value.Kind() {
	case 't':
	case 'f':
		r.policy.noRules = r.at(v)
	default:
		return r.refuse(v, "always: want true or false")
	}
	return nil
}
