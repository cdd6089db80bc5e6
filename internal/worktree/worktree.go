package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/agentworker/worker/internal/atomicfile"
)

// BranchPrefix begins the name of every branch that is made here.
const BranchPrefix = "agentworker/"

// Store is the folder that holds the worktrees of a workspace, each in a folder
// that has its id for a name. It is safe for concurrent use, also by several
// processes.
type Store struct{ dir string }

// Open returns the store in a folder, which must lie outside of the repositories
// that worktrees are made of. The folder is made with the first worktree.
func Open(dir string) *Store { return &Store{dir} }

// Worktree is a git worktree that was made for a session.
type Worktree struct {
	ID        string    `json:"id"`
	Path      string    `json:"path"`   // its working files; absolute, symlinks resolved
	Repo      string    `json:"repo"`   // the working files that it was made of
	Branch    string    `json:"branch"` // its own
	Base      string    `json:"base"`   // the commit of what it was made of; empty means it was never finished
	GitDir    string    `json:"gitDir"` // what git keeps of it, in the repository; empty means as Base
	Common    string    `json:"common"` // the repository's own folder, with objects and branches
	CreatedAt time.Time `json:"createdAt"`

	// AppliedAt is when its changes were brought to Repo; zero means they were not.
	AppliedAt time.Time `json:"appliedAt,omitzero"`

	// Left are the folders of Repo whose files it does not have: submodules and
	// repositories of their own. Slash-separated, relative to Repo.
	Left []string `json:"left,omitempty"`

	store *Store
	made  bool // git has made it, and its branch, in this process
}

var validID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Create makes a worktree of the current working files in repo, for a session's id. repo is
// the top folder of a git repository or of one of its worktrees, else the error is
// [ErrNoRepository]. After an error nothing is left behind. If the process is
// killed meanwhile, [Store.List] lists the rest of the worktree, without a Base.
func (s *Store) Create(ctx context.Context, repo, id string) (*Worktree, error) {
	if !validID.MatchString(id) {
		return nil, fmt.Errorf("making a worktree: %q is no id", id)
	}
	w, err := s.create(ctx, repo, id)
	if err != nil {
		return nil, fmt.Errorf("making a worktree of %s: %w", repo, err)
	}
	return w, nil
}

func (s *Store) create(ctx context.Context, repo, id string) (_ *Worktree, err error) {
	r, err := findRepository(ctx, repo)
	if err != nil {
		return nil, err
	}
	dir, err := s.makeDir()
	if err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(r.top, dir); err == nil && filepath.IsLocal(rel) {
		return nil, fmt.Errorf("the folder for worktrees, %s, lies in the repository: choose another state folder with --state-dir", dir)
	}
	w := &Worktree{
		ID: id, Path: filepath.Join(dir, id), Repo: r.top, Branch: BranchPrefix + id, Common: r.common,
		CreatedAt: time.Now().UTC(), store: s,
	}
	data, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Create(w.file(), data, 0o600); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("there is one already for %s: %w", id, err)
		}
		return nil, err
	}
	defer func() {
		if err != nil {
			if rest := w.remove(context.WithoutCancel(ctx), w.made); rest != nil {
				err = errors.Join(err, fmt.Errorf("removing what was made of it: %w", rest))
			}
		}
	}()
	if err := w.fill(ctx, r); err != nil {
		return nil, err
	}
	return w, w.save()
}

// fill makes the worktree.
func (w *Worktree) fill(ctx context.Context, r *repository) error {
	scratch, err := r.scratch(ctx, r.top)
	if err != nil {
		return err
	}
	defer scratch.close()
	end, err := w.store.lock(ctx, applying, false)
	if err != nil {
		return err
	}
	snap, err := r.snapshot(ctx, scratch)
	end()
	if err != nil {
		return err
	}
	slices.Sort(snap.left)
	w.Left = slices.Compact(snap.left)
	base, err := w.commit(ctx, r, scratch, snap.tree)
	if err != nil {
		return err
	}
	if err := w.add(ctx, r, base); err != nil {
		return err
	}
	// The worktree's own index is a copy of the snapshot's, with the times of the new files.
	files, err := r.scratch(ctx, w.Path)
	if err != nil {
		return err
	}
	defer files.close()
	if err := copyFile(scratch.index(), files.index()); err != nil {
		return err
	}
	if _, err := files.git(ctx, nil, "checkout-index", "--all", "--force", "--quiet", "--index"); err != nil {
		return err
	}
	if err := copyFile(files.index(), filepath.Join(w.GitDir, "index")); err != nil {
		return err
	}
	w.Base = base
	return nil
}

// commit returns a commit of a tree: the one that is checked out, if it has the same tree, else
// a new one on top of it.
func (w *Worktree) commit(ctx context.Context, r *repository, s *scratch, tree string) (string, error) {
	head, err := r.commit(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree, "-m", "The working files as they were when " + w.ID + " began"}
	if head != "" {
		at, err := r.line(ctx, "rev-parse", head+"^{tree}")
		if err != nil {
			return "", err
		}
		if at == tree {
			return head, nil
		}
		args = append(args, "-p", head)
	}
	return s.line(ctx, nil, args...)
}

// add has git make the worktree, without files. One at a time: git's command
// fails where it meets another worktree that is half made.
func (w *Worktree) add(ctx context.Context, r *repository, base string) error {
	end, err := w.store.lock(ctx, adding, true)
	if err != nil {
		return err
	}
	defer end()
	if err := r.change(ctx, "worktree", "add", "--quiet", "--no-checkout", "--no-track", "--lock", "--reason", "of agentworker session "+w.ID,
		"-b", w.Branch, w.Path, base); err != nil {
		return err
	}
	w.made = true
	found, err := findRepository(ctx, w.Path)
	if err != nil {
		return err
	}
	w.GitDir = found.gitDir
	// It keeps git from removing the base, even if the branch is deleted.
	return found.change(ctx, "update-ref", "refs/worktree/agentworker-base", base)
}

// makeDir makes the store's folder, and returns its real path.
func (s *Store) makeDir() (string, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(s.dir)
}

// file is where the worktree is noted.
func (w *Worktree) file() string { return w.Path + noted }

// noted ends the names of the files that note worktrees.
const noted = ".json"

func (w *Worktree) save() error {
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return atomicfile.Write(w.file(), data, 0o600)
}

// The locks of a store.
const (
	adding   = "adding.lock"   // held to make or remove a worktree in a repository
	applying = "applying.lock" // held to change working files; shared by those who take a snapshot to begin with
)

// lock takes one of the store's locks, and waits for it as long as ctx lasts.
func (s *Store) lock(ctx context.Context, name string, alone bool) (end func(), err error) {
	dir, err := s.makeDir()
	if err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(dir, name), flock.SetPermissions(0o600))
	take := l.TryRLockContext
	if alone {
		take = l.TryLockContext
	}
	if _, err := take(ctx, 10*time.Millisecond); err != nil {
		return nil, fmt.Errorf("waiting for another process that works on worktrees: %w", err)
	}
	return func() { _ = l.Unlock() }, nil // it ends with the process at the latest
}

// ErrNotFound is the error of [Store.Get] for an id of no worktree that is kept.
var ErrNotFound = errors.New("no such worktree is kept")

// Get returns the worktree of an id, or of the start of one. If there is none,
// the error is [ErrNotFound].
func (s *Store) Get(id string) (*Worktree, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	var found []*Worktree
	for _, w := range all {
		if w.ID == id {
			return w, nil
		}
		if id != "" && strings.HasPrefix(w.ID, id) {
			found = append(found, w)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%w: %q", ErrNotFound, id)
	case 1:
		return found[0], nil
	default:
		return nil, fmt.Errorf("%q begins the ids of %d worktrees: write more of it", id, len(found))
	}
}

// List returns the worktrees that are kept, the oldest first: in use, with work that was not
// applied, or left by killed processes.
func (s *Store) List() ([]*Worktree, error) {
	dir, err := filepath.EvalSymlinks(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []*Worktree
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), noted)
		if !ok || !validID.MatchString(id) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		w := &Worktree{store: s}
		if err == nil {
			err = json.Unmarshal(data, w)
		}
		if err == nil && (w.ID != id || w.Path != filepath.Join(dir, id)) {
			err = errors.New("it is of another worktree")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, e.Name()), err)
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *Worktree) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all, nil
}
