package agentdefs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/internal/agentdefstest"
)

// mine is a general that may do nothing, unlike the built-in one.
const mine = "---\nname: general\ndescription: Mine.\npermission: {\"*\": deny}\n---\nx"

// failing has calls of one path fail while err is set.
func failing(path string, err *atomic.Pointer[error]) agentdefs.Platform {
	fails := func(at string) error {
		if e := err.Load(); e != nil && at == path {
			return &fs.PathError{Op: "open", Path: at, Err: *e}
		}
		return nil
	}
	return agentdefs.Platform{
		ReadDir: func(at string) ([]fs.DirEntry, error) {
			if err := fails(at); err != nil {
				return nil, err
			}
			return os.ReadDir(at)
		},
		Lstat: func(at string) (fs.FileInfo, error) {
			if err := fails(filepath.Join(at, "lstat")); err != nil {
				return nil, err
			}
			return os.Lstat(at)
		},
		BeforeRead: fails,
	}
}

// TestUnreadableFolder: when a folder can't be read any more, its agents do not
// change, nor do others with the names that it restricts. They follow its files
// once it can be read again.
func TestUnreadableFolder(t *testing.T) {
	const file = "w/.claude/agents/sub/mine.md"
	for _, tt := range []struct{ name, path, reported string }{
		{"folder", "w/.claude/agents", ".claude/agents"},
		{"subfolder", "w/.claude/agents/sub", ".claude/agents/sub"},
		{"on the way", "w/.claude/lstat", ".claude/agents"},
		{"another folder of the workspace", "w/.agents/lstat", ".agents/agents"},
		{"subfolder itself", "w/.claude/agents/sub/lstat", ".claude/agents/sub"},
		{"workspace", "w/lstat", "."},
		{"link", "w/.claude/agents/link/lstat", ".claude/agents/link"},
		{"file", file, ".claude/agents/sub/mine.md"},
		{"another tool's", "w/.gemini/agents", ".gemini/agents"},
		{"on the way to another tool's", "w/.gemini/lstat", ".gemini/agents"},
		{"a package's", "w/pkg/.claude/agents", "pkg/.claude/agents"},
		{"folder of packages", "w/pkgs", "pkgs"},
	} {
		for _, cause := range []error{fs.ErrPermission, syscall.EIO, syscall.ESTALE, syscall.ENOTCONN} {
			t.Run(tt.name+" "+cause.Error(), func(t *testing.T) {
				t.Parallel()
				above := t.TempDir()
				root, file := filepath.Join(above, "w"), filepath.Join(above, file)
				put(t, filepath.Join(root, ".claude/agents/b.md"), agent("B", "b"))
				switch tt.name {
				case "another tool's", "on the way to another tool's":
					put(t, filepath.Join(root, ".gemini/agents/mine.md"), mine)
				case "folder of packages":
					put(t, filepath.Join(root, "pkgs/one/.claude/agents/mine.md"), mine)
				case "a package's":
					put(t, filepath.Join(root, "pkg/.claude/agents/mine.md"), mine)
				case "link":
					put(t, filepath.Join(above, "shared/mine.md"), mine)
					must(t, os.Symlink(filepath.Join(above, "shared"), filepath.Join(root, ".claude/agents/link")))
				default:
					put(t, file, mine)
				}
				var err atomic.Pointer[error]
				l := openT(t, root, (&agentdefs.Options{From: []string{"all"}, RescanEvery: time.Millisecond}).On(failing(filepath.Join(above, tt.path), &err)))
				whole := l.newest.Snapshot
				err.Store(&cause)
				s := l.until("it is stale", func(s *agentdefs.Snapshot) bool { d, _ := s.Agent("general"); return d != nil && d.Stale })
				d, _ := s.Agent("general")
				if d.Description != "Mine." || !d.Permission.DeniesAll("shell_exec") || d.Shadows != "built-in" {
					t.Errorf("general is %+v, want the last good version", d)
				}
				if s.Dir() != ".claude/agents" {
					t.Errorf("folder %q", s.Dir())
				}
				reported := 0
				for _, d := range s.Diagnostics() {
					if d.File == tt.reported && d.Code == "file-unreadable" && d.Fix != "" {
						reported++
					}
				}
				if reported != 1 {
					t.Errorf("diagnostics %v, want one file-unreadable of %s", s.Diagnostics(), tt.reported)
				}
				err.Store(nil)
				l.until("it is as before", func(s *agentdefs.Snapshot) bool { return difference(s, whole) == "" })
			})
		}
	}
}

// TestUnreadableFolderAtStart: what a folder would restrict is unknown. So
// agents that it overrides are not served; agents that override it are.
func TestUnreadableFolderAtStart(t *testing.T) {
	for name, tt := range map[string]struct{ path, reported, agents string }{
		"folder":        {"root/.agents/agents", ".agents/agents", "e"},
		"on the way":    {"root/.agents/lstat", ".agents/agents", "e"},
		"user's folder": {"user", "user", "e mine"},
		"subfolder":     {"user/sub", "user/sub", "e mine u"},
	} {
		t.Run(name, func(t *testing.T) {
			above := t.TempDir()
			at := func(name string) string { return filepath.Join(above, name) }
			put(t, at("root/.agents/agents/mine.md"), agent("Mine", "x"))
			put(t, at("user/u.md"), agent("U", "x"))
			put(t, at("user/sub/s.md"), agent("S", "x"))
			put(t, at("extra/e.md"), agent("E", "x"))
			var err atomic.Pointer[error]
			err.Store(&fs.ErrPermission)
			opts := (&agentdefs.Options{UserDir: at("user"), Dirs: []string{at("extra")}, RescanEvery: time.Millisecond}).On(failing(at(tt.path), &err))
			l := openT(t, at("root"), opts)
			s := l.newest.Snapshot
			if got := strings.Join(agentdefstest.Names(s.Agents()), " "); got != tt.agents {
				t.Errorf("agents %q, want %q", got, tt.agents)
			}
			unserved := 0
			for _, u := range s.Unserved() {
				if u.Name == "general" && u.File == "built-in" && u.Code == "file-unreadable" && u.Reason != "" {
					unserved++
				}
			}
			ds := s.Diagnostics()
			if unserved != 1 || len(ds) == 0 || !strings.HasSuffix(ds[0].File, tt.reported) || ds[0].Code != "file-unreadable" || !strings.Contains(ds[0].Fix, "to get those back") {
				t.Errorf("diagnostics %v, not served %v; want what is missing and why", ds, s.Unserved())
			}
			err.Store(nil)
			l.until("all are there", func(s *agentdefs.Snapshot) bool { return len(s.Agents()) == 6 && len(s.Diagnostics()) == 0 })
		})
	}
}

// TestNameIsHeld: while a file exists, no agent of a folder before it comes back
// under the name that the file has, or had.
func TestNameIsHeld(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "blank": "\n \n", "prose": "# Prose\n", "NULs": strings.Repeat("\x00", 100), "no description": "---\nname: general\npermission: {\"*\": deny}\n---\nx",
		"no description or rule": "---\nname: general\n---\nx", "not closed": "---\nname: general\ndescription: x\n", "switched off": "---\nname: general\ndisable: true\n---\nx", "cut in the name": "---\nname: gen",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			file := filepath.Join(root, ".agents/agents/general.md")
			if name != "prose" && name != "no description or rule" { // those are no agents from the start
				put(t, file, text)
				s, err := agentdefs.Load(root, nil)
				must(t, err)
				if d, ok := s.Agent("general"); ok {
					t.Errorf("at the start general is %+v, want none", d)
				}
			}
			put(t, file, mine)
			l := openT(t, root, (&agentdefs.Options{RescanEvery: time.Millisecond}))
			put(t, file, text)
			put(t, filepath.Join(root, ".agents/agents/mark.md"), agent("Mark", "x"))
			s := l.until("it is read", func(s *agentdefs.Snapshot) bool {
				_, ok := s.Agent("mark")
				d, _ := s.Agent("general")
				return ok && (d == nil || d.Stale)
			})
			put(t, filepath.Join(root, ".agents/agents/mark.md"), agent("Again", "x"))
			l.until("all is read again", func(s *agentdefs.Snapshot) bool { d, _ := s.Agent("mark"); return d != nil && d.Description == "Again" })
			for _, c := range l.changes {
				if d, ok := c.Snapshot.Agent("general"); ok && d.BuiltIn {
					t.Errorf("snapshot %d has the built-in general while its file exists", c.Snapshot.Version)
				}
			}
			if len(s.Diagnostics()) == 0 {
				t.Error("nothing is reported")
			}
			must(t, os.Remove(file))
			l.until("it is removed", func(s *agentdefs.Snapshot) bool { d, _ := s.Agent("general"); return d != nil && d.BuiltIn })
		})
	}
}

// TestStaysEmpty: a file that stays empty keeps its last good version.
func TestStaysEmpty(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, ".agents/agents/x.md")
	put(t, file, mine)
	l := openT(t, root, nil)
	must(t, os.Truncate(file, 0))
	s := l.until("it is stale", func(s *agentdefs.Snapshot) bool { d, _ := s.Agent("general"); return d != nil && d.Stale })
	if d, _ := s.Agent("general"); d.Description != "Mine." {
		t.Errorf("general is %+v, want the version before", d)
	}
}

// TestRootThatCannotBeRead is an error, not a workspace without files.
func TestRootThatCannotBeRead(t *testing.T) {
	root := t.TempDir()
	var err atomic.Pointer[error]
	err.Store(&fs.ErrPermission)
	if _, err := agentdefs.Load(root, new(agentdefs.Options).On(failing(root, &err))); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v, want that of the folder", err)
	}
}
