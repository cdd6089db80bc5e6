package app

import (
	"errors"
	"path/filepath"
	"runtime"

	"github.com/agentworker/worker/agentdefs"
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
type SettingsRules struct{ files []*permission.File }

// NewSettingsRules returns the rules for a workspace. report gets what can't be read exactly, when
// a file is read; nil drops it.
func NewSettingsRules(p *Program, ws *workspace.Workspace, report func(agentdefs.Diagnostic)) *SettingsRules {
	s := &SettingsRules{}
	if !p.Settings.OtherRules {
		return s
	}
	for _, f := range settingsFiles {
		path := f.path
		if filepath.IsAbs(path) && runtime.GOOS == "windows" {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(ws.Root, filepath.FromSlash(path))
		}
		s.files = append(s.files, permission.FollowAs(path, func(data []byte) (*permission.Ruleset, error) {
			rules, found, err := agentdefs.SettingsRules(f.form, f.path, data, ws.Home)
			for _, d := range found {
				if report != nil {
					report(d)
				}
			}
			return rules, err
		}))
	}
	return s
}

// Rules returns the rules in force, a set for each file. While a file can't be read, its last good rules
// stay, with an error. If there are none, only the error is returned.
func (s *SettingsRules) Rules() (all []*permission.Ruleset, err error) {
	var errs []error
	for _, f := range s.files {
		rules, err := f.Rules()
		if err != nil && rules == nil {
			return nil, err
		}
		if errs = append(errs, err); rules.Len() > 0 {
			all = append(all, rules)
		}
	}
	return all, errors.Join(errs...)
}
