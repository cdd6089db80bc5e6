package workdir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/permission"
)

// Places is where the sessions of a process work: the dirs that were made for them, and the
// folders in which they may write.
type Places struct {
	Registry
	locks   Locks
	home    func() *Dir
	isolate func(ctx context.Context, from, sessionID string) (*Dir, error)
}

// NewPlaces returns the places of a workspace, which home returns. isolate makes a git worktree
// for a session from the files of a folder; nil means that none is made.
func NewPlaces(home func() *Dir, isolate func(ctx context.Context, from, sessionID string) (*Dir, error)) *Places {
	return &Places{home: home, isolate: isolate}
}

// Wish says where a session is to work.
type Wish struct {
	SessionID string
	Agent     string
	Below     event.Path // of its parent, where it works otherwise
	Root      string     // the top folder of its parent's files
	Isolated  bool       // in a git worktree of its own
	From      string     // the folder of which that is made; empty means where its parent works
	Cwd       string     // the folder that it is held to, as its call names it; empty means none

	WriteRoots []string // the folders in which it may write, as its call names them; nil means all
}

// Place is where one session works. It is the session's until [Place.Leave].
type Place struct {
	Dir   *Dir              // nil means the workspace
	Made  *Dir              // the git worktree that was made for it; nil means none
	Root  string            // the top folder of its files
	Rules []permission.Rule // hold it to its folders, whatever agent it becomes

	of        *Places
	sessionID string
	lock      *Lock // of the folders that it may write in; nil means all
}

// Settle gives a session the place that it wants: first the worktree, in it the folder, and in
// that the folders to write in. After an error it has none.
func (p *Places) Settle(ctx context.Context, w Wish) (*Place, error) {
	at := &Place{of: p, sessionID: w.SessionID}
	if err := at.settle(ctx, w); err != nil {
		return nil, errors.Join(err, at.Abandon(ctx))
	}
	return at, nil
}

func (at *Place) settle(ctx context.Context, w Wish) error {
	above, root := at.of.Of(w.Below), w.Root
	dir := above
	if w.Isolated {
		made, err := at.of.worktree(ctx, above, w)
		if err != nil {
			return err
		}
		at.Made, dir, root = made, made, made.Paths.Root
	}
	held, folderRules, err := at.of.folder(dir, w.Cwd)
	if err != nil {
		return err
	}
	writeRules, err := at.lockRoots(root, held, w)
	if err != nil {
		return err
	}
	at.Dir, at.Root, at.Rules = held, root, slices.Concat(folderRules, writeRules)
	if held != above {
		at.of.Add(w.SessionID, held)
	}
	return nil
}

// worktree makes a worktree for a session below one that works in above.
func (p *Places) worktree(ctx context.Context, above *Dir, w Wish) (*Dir, error) {
	if p.isolate == nil {
		return nil, fmt.Errorf("the agent %q works in a git worktree (isolation: worktree), and none is made here", w.Agent)
	}
	in := cmp.Or(above, p.home())
	made, err := p.isolate(ctx, cmp.Or(w.From, in.Paths.Root), w.SessionID)
	if err != nil {
		return nil, fmt.Errorf("the agent %q works in a git worktree (isolation: worktree): %w", w.Agent, err)
	}
	made.Own = in.Own
	return made, nil
}

// folder returns a dir held to the folder that a call names, or the dir itself. Its commands
// begin in the folder. The rules, which no other lifts, deny the other files of the workspace.
func (p *Places) folder(dir *Dir, cwd string) (*Dir, []permission.Rule, error) {
	if cwd == "" {
		return dir, nil, nil
	}
	held := *cmp.Or(dir, p.home())
	if held.In == nil {
		return nil, nil, errors.New("cwd: no agent can be held to a folder here")
	}
	folder, err := Folder(held.Paths.Root, held.Folder, cwd)
	if err != nil || folder == "." {
		return dir, nil, err
	}
	held.Folder, held.Tools = folder, held.In(folder)
	return &held, FolderRules(folder), nil
}

// lockRoots locks the folders of the wish, and returns the rules that hold the session's writing to
// them.
func (at *Place) lockRoots(root string, dir *Dir, w Wish) ([]permission.Rule, error) {
	if w.WriteRoots == nil {
		return nil, nil
	}
	folder := ""
	if dir != nil {
		folder = dir.Folder
	}
	roots, rules, err := WriteRoots(root, folder, w.WriteRoots)
	if err == nil {
		at.lock, err = at.of.locks.Acquire(w.SessionID, w.Agent, w.Below, roots)
	}
	return rules, err
}

// Leave gives the folders back. The session has ended; its worktree stays.
func (at *Place) Leave() {
	at.of.Remove(at.sessionID)
	at.of.locks.Release(at.lock)
}

// Abandon gives up the place of a session that was not opened, which may be nil.
func (at *Place) Abandon(ctx context.Context) error {
	if at == nil {
		return nil
	}
	at.Leave()
	if at.Made == nil {
		return nil
	}
	return errors.Join(at.Made.Close(), at.Made.Worktree.Discard(context.WithoutCancel(ctx)))
}
