package tool

import (
	"errors"
	"path/filepath"
	"testing"
)

// TestDefaultShell holds which shell is taken of those that a system has.
func TestDefaultShell(t *testing.T) {
	win := func(parts ...string) string { return filepath.Join(append([]string{"C:"}, parts...)...) }
	for name, tt := range map[string]struct {
		goos string
		path map[string]string // the files that are found, by what is looked for
		want string
	}{
		"bash":                   {"linux", map[string]string{"bash": "/bin/bash", "sh": "/bin/sh"}, "/bin/bash"},
		"no bash":                {"linux", map[string]string{"sh": "/bin/sh"}, "/bin/sh"},
		"nothing":                {"linux", nil, ""},
		"WSL alone":              {"windows", map[string]string{"bash": win("Windows", "System32", "bash.exe")}, ""},
		"WSL first":              {"windows", map[string]string{"bash": win("Windows", "System32", "bash.exe"), win("PF", "Git", "bin", "bash.exe"): win("PF", "Git", "bin", "bash.exe")}, win("PF", "Git", "bin", "bash.exe")},
		"Git for Windows by git": {"windows", map[string]string{"git": win("tools", "Git", "cmd", "git.exe"), win("tools", "Git", "bin", "bash.exe"): win("tools", "Git", "bin", "bash.exe"), "bash": win("msys", "bash.exe")}, win("tools", "Git", "bin", "bash.exe")},
		"the user's own":         {"windows", map[string]string{win("LA", "Programs", "Git", "bin", "bash.exe"): win("LA", "Programs", "Git", "bin", "bash.exe")}, win("LA", "Programs", "Git", "bin", "bash.exe")},
		"another bash":           {"windows", map[string]string{"bash": win("msys", "bash.exe")}, win("msys", "bash.exe")},
	} {
		env := map[string]string{"ProgramFiles": win("PF"), "LocalAppData": win("LA")}
		got := shellOf(tt.goos, func(name string) string { return env[name] }, func(file string) (string, error) {
			if path := tt.path[file]; path != "" {
				return path, nil
			}
			return "", errors.New("not found")
		})
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
