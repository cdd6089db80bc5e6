package skills

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
)

// Bounds of what is read.
const (
	MaxFile        = 256 << 10 // of a SKILL.md, in bytes
	MaxBody        = 64 << 10  // of the text that a model is given of one, in bytes
	MaxResource    = 64 << 10  // of another file of a skill, in bytes
	MaxDescription = 1024      // in characters; of a longer one the beginning is shown
	MaxFiles       = 100       // that are listed of a skill
	maxDepth       = 5         // of the folders in a skill that are looked into
	maxLooked      = 2000      // entries in them
)

// FileName is the name of the file that makes a folder a skill.
const FileName = "SKILL.md"

// Diagnostic is one finding about a skill or a folder of skills.
type Diagnostic = diag.Diagnostic

// Skill is one skill, as its file was when it was found. It is not changed.
type Skill struct {
	Name        string // in small letters, without blanks
	Description string // in one line, not empty
	Dir         string // its folder, an absolute path
	File        string // as shown to people: ".agents/skills/x/SKILL.md", "~/.claude/skills/x/SKILL.md"
	Line        int    // where its fields begin, from 1
	User        bool   // it is the user's, and no file of the workspace

	NoModel bool   // no model may load it (disable-model-invocation)
	Fork    bool   // it is meant for a subagent (context: fork)
	Agent   string // the agent of that subagent, as written; empty means any

	body   string // as the file was
	plugin string // the one that has it; empty means none
	root   string // no link leads out of this folder; empty means the skill's own
	within string // its folder in root, slash-separated
}

// qualify puts the name of the plugin before that of the skill.
func (s *Skill) qualify() {
	if s.plugin != "" {
		s.Name = strings.ToLower(s.plugin) + ":" + s.Name
	}
}

// Shown is the skill's folder, as shown to people and models.
func (s *Skill) Shown() string { return path.Dir(s.File) }

// Content is what a model is given of a skill.
type Content struct {
	Body  string   // at most [MaxBody] bytes
	Cut   bool     // the file says more
	Files []string // the other files in its folder: relative paths, in order
	More  bool     // there are more than that
}

// Read reads the skill as its file is now.
func (s *Skill) Read() (*Content, error) {
	folder, err := s.open()
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	data, err := boundedfile.ReadIn(folder, s.fileName(), MaxFile)
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %s", s.File, errtext.Of(err))
	}
	now, found := Parse(s.File, data)
	if now != nil {
		now.plugin = s.plugin
		now.qualify()
	}
	switch {
	case now == nil:
		return nil, fmt.Errorf("%s is not a skill any more: %s", s.File, lastError(found))
	case now.Name != s.Name:
		return nil, fmt.Errorf("%s is now the skill %s", s.File, now.Name)
	case now.NoModel && !s.NoModel:
		return nil, fmt.Errorf("%s is not for models any more (disable-model-invocation)", s.File)
	}
	c := &Content{Body: now.body}
	if len(c.Body) > MaxBody {
		c.Body, c.Cut = termtext.Head(c.Body, MaxBody), true
	}
	c.Files, c.More = list(folder.FS(), s.fileName())
	return c, nil
}

// ReadFile returns the text of another file in the skill's folder, by its path there. cut says
// that the file has more than [MaxResource] bytes.
func (s *Skill) ReadFile(name string) (text string, cut bool, err error) {
	name = strings.TrimPrefix(path.Clean(filepath.ToSlash(name)), "./")
	if !fs.ValidPath(name) || name == "." {
		return "", false, fmt.Errorf("file %q: give the path of a file in the skill's folder, such as references/guide.md", termtext.OneLine(name, termtext.MaxLabel))
	}
	folder, err := s.open()
	if err != nil {
		return "", false, err
	}
	defer folder.Close()
	f, err := boundedfile.OpenIn(folder, name)
	if err != nil {
		return "", false, fmt.Errorf("%s of the skill %s can't be read: %s", termtext.OneLine(name, termtext.MaxLabel), s.Name, errtext.Of(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxResource+1))
	if err != nil {
		return "", false, fmt.Errorf("%s of the skill %s can't be read: %s", termtext.OneLine(name, termtext.MaxLabel), s.Name, errtext.Of(err))
	}
	if cut = len(data) > MaxResource; cut {
		data = termtext.Head(data, MaxResource)
	}
	if slices.Contains(data, 0) || !utf8.Valid(data) {
		return "", false, fmt.Errorf("%s of the skill %s is not UTF-8 text", termtext.OneLine(name, termtext.MaxLabel), s.Name)
	}
	return string(data), cut, nil
}

// fileName is the name of the skill's file in its folder.
func (s *Skill) fileName() string { return path.Base(s.File) }

// open opens the folder of the skill.
func (s *Skill) open() (*os.Root, error) {
	folder, err := openFolder(s.root, s.within, s.Dir)
	if err != nil {
		return nil, fmt.Errorf("the folder %s of the skill %s can't be opened: %s", s.Shown(), s.Name, errtext.Of(err))
	}
	return folder, nil
}

// openFolder opens the folder of a skill: within a root, or where there is none at dir.
func openFolder(root, within, dir string) (*os.Root, error) {
	if root == "" {
		return os.OpenRoot(dir)
	}
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	return top.OpenRoot(filepath.FromSlash(within))
}

// list returns the files below a folder other than that of a name: those that no link leads
// to, and whose names are plain.
func list(folder fs.FS, except string) (files []string, more bool) {
	looked := 0
	_ = fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if looked++; looked > maxLooked {
			more = true
			return fs.SkipAll
		}
		switch {
		case err != nil || name == ".":
			return nil
		case strings.HasPrefix(d.Name(), "."), d.Name() == "node_modules", d.Name() == "__pycache__":
			return skip(d)
		case d.IsDir():
			if strings.Count(name, "/") >= maxDepth {
				more = true
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || name == except || !utf8.ValidString(name) || strings.ContainsFunc(name, termtext.Hides):
			return nil
		case len(files) == MaxFiles:
			more = true
			return fs.SkipAll
		}
		files = append(files, name)
		return nil
	})
	return files, more
}

// skip passes over an entry with all below it.
func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// lastError returns the message of the last error among diagnostics.
func lastError(found []Diagnostic) string {
	for _, d := range slices.Backward(found) {
		if d.Severity == diag.Error {
			return fmt.Sprintf("line %d: %s", cmp.Or(d.Line, 1), d.Message)
		}
	}
	return "it can't be read"
}
