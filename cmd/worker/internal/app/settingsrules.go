package app

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/permission"
)

// settingsFiles are the files in which other programs have rules that only narrow.
var settingsFiles = []struct {
	form agentdefs.SettingsForm
	path string // relative to the workspace, unless it is absolute
}{
	{agentdefs.ClaudeSettings, "/etc/claude-code/managed-settings.json"},
	{agentdefs.ClaudeSettings, "/Library/Application Support/ClaudeCode/managed-settings.json"},
	{agentdefs.ClaudeSettings, ".claude/settings.json"},
	{agentdefs.ClaudeSettings, ".claude/settings.local.json"},
	{agentdefs.GeminiSettings, ".gemini/settings.json"},
	{agentdefs.OpencodeSettings, "opencode.json"},
	{agentdefs.OpencodeSettings, "opencode.jsonc"},
}

// settingsPaths are those files, as far as they are in the workspace. No agent writes them.
func settingsPaths(ws *workspace.Workspace) (paths []string) {
	for _, f := range settingsFiles {
		if !filepath.IsAbs(f.path) {
			paths = append(paths, filepath.Join(ws.Root, filepath.FromSlash(f.path)))
		}
	}
	return paths
}

// SettingsRules are the rules in the settings of other programs. They follow the files.
type SettingsRules struct {
	files []*settingsFile
	trust trustedRules
}

// settingsFile is a file of another program's settings.
type settingsFile struct {
	mu      sync.Mutex
	rules   *permission.File
	allowed []permission.Rule // of the last content that could be read
	granted *permission.Ruleset
	own     bool // it is in the workspace: what it allows counts once it is trusted
}

// NewSettingsRules returns the rules for a workspace. report gets what can't be read exactly, when
// a file is read; nil drops it.
func NewSettingsRules(p *Program, ws *workspace.Workspace, report func(agentdefs.Diagnostic)) *SettingsRules {
	s := &SettingsRules{trust: trustedRulesOf(p, ws)}
	if !p.Settings.OtherRules {
		return s
	}
	at := permission.Workspace{Root: ws.Root, Home: ws.Home}
	for _, f := range settingsFiles {
		path := f.path
		if filepath.IsAbs(path) && runtime.GOOS == "windows" {
			continue
		}
		file := &settingsFile{own: !filepath.IsAbs(path)}
		if file.own {
			path = filepath.Join(ws.Root, filepath.FromSlash(path))
		}
		file.rules = permission.FollowAs(path, func(data []byte) (*permission.Ruleset, error) {
			read, err := agentdefs.ReadSettings(f.form, f.path, data, at)
			if err != nil {
				return nil, err
			}
			if report != nil {
				for _, d := range read.Found {
					report(d)
				}
			}
			file.allowed, file.granted = read.Allowed, read.Granted
			return read.Narrow, nil
		})
		s.files = append(s.files, file)
	}
	return s
}

// read returns the rules of the file, and what it allows once it is trusted. What it allows counts
// only as long as it can be read.
func (f *settingsFile) read() (narrow, granted *permission.Ruleset, allows Allowing, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	narrow, text, err := f.rules.RulesAndText()
	if err != nil || text == nil || !f.own {
		return narrow, nil, Allowing{}, err
	}
	path := f.rules.Path()
	return narrow, f.granted, Allowing{Path: path, Rules: f.allowed, Hash: Hash(append([]byte(path+"\x00"), text...))}, nil
}

// Rules implements [gate.SettingsRules]. While a file can't be read, its last good rules
// stay, with an error. If there are none, only the error is returned.
func (s *SettingsRules) Rules() (narrow, granted []*permission.Ruleset, err error) {
	var errs []error
	for _, f := range s.files {
		rules, may, allows, err := f.read()
		if err != nil && rules == nil {
			return nil, nil, err
		}
		if errs = append(errs, err); rules.Len() > 0 {
			narrow = append(narrow, rules)
		}
		if may.Len() > 0 && (s.trust.always || s.trust.has(allows.Hash)) {
			granted = append(granted, may)
		}
	}
	return narrow, granted, errors.Join(errs...)
}

// allowing returns the files with rules that allow.
func (s *SettingsRules) allowing() (all []Allowing, err error) {
	for _, f := range s.files {
		_, _, allows, err := f.read()
		if err != nil {
			return nil, err
		}
		if len(allows.Rules) > 0 {
			all = append(all, allows)
		}
	}
	return all, nil
}

// Hash is the hash by which a content is trusted.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// trustedRules are the hashes of files whose rules a person trusts.
type trustedRules struct {
	path   string // of their file
	always bool   // --trust-repository
}

func trustedRulesOf(p *Program, ws *workspace.Workspace) trustedRules {
	return trustedRules{filepath.Join(ws.StateDir, "trusted"), p.Settings.TrustRepository}
}

// has reports whether a content is trusted.
func (t trustedRules) has(hash string) bool {
	hashes, err := t.hashes()
	return err == nil && bytes.Contains(hashes, []byte(hash+"\n"))
}

func (t trustedRules) hashes() ([]byte, error) {
	text, err := boundedfile.Read(t.path, maxRules)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// TrustRules notes that the person trusts contents, or no longer does. They are not those of
// the files, which may have changed meanwhile.
func TrustRules(p *Program, ws *workspace.Workspace, files []Allowing, trusted bool) error {
	t := trustedRulesOf(p, ws)
	text, err := t.hashes()
	if err != nil {
		return err
	}
	for _, f := range files {
		text = bytes.ReplaceAll(text, []byte(f.Hash+"\n"), nil)
		if trusted {
			text = append(text, f.Hash+"\n"...)
		}
	}
	return errors.Join(os.MkdirAll(filepath.Dir(t.path), 0o700), atomicfile.Write(t.path, text, 0o600))
}

// TrustableRules returns what the files of the workspace would allow: .agents/permissions.jsonc,
// and the settings of other programs. The error says which can't be read; the others are returned
// all the same.
func TrustableRules(p *Program, ws *workspace.Workspace) ([]Allowing, error) {
	own, err := NewRepositoryRules(p, ws).allowing()
	others, wrong := NewSettingsRules(p, ws, nil).allowing()
	return append(own, others...), errors.Join(err, wrong)
}

// Untrusted returns a notice if files have rules that allow and nobody trusts them; else "".
func Untrusted(own *RepositoryRules, others *SettingsRules) string {
	mine, err := own.allowing()
	theirs, wrong := others.allowing()
	if err != nil || wrong != nil || own.trust.always {
		return ""
	}
	var names []string
	for _, f := range append(mine, theirs...) {
		if len(f.Rules) > 0 && !own.trust.has(f.Hash) {
			names = append(names, f.Path)
		}
	}
	if len(names) == 0 {
		return ""
	}
	have := "has"
	if len(names) > 1 {
		have = "have"
	}
	return fmt.Sprintf("%s %s rules that allow calls, which do not count until you trust them: 'worker trust' shows them", strings.Join(names, ", "), have)
}
