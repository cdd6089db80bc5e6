package sandbox

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/agentworker/worker/internal/gitplace"
	"github.com/agentworker/worker/sandbox/internal/wire"
)

// answer judges what a supervisor asks.
func (s *Session) answer(p *Profile, held []string, ask *wire.Ask) *Refusal {
	switch ask.Op {
	case "bound":
		return s.sockets.add(ask.Socket)
	case "connect":
		if s.sockets.has(ask.Socket) {
			return nil
		}
		return p.refusedSocket(ask.New)
	case "pipe": // that of a workspace is a file of it
		if contains(p.Workspace, ask.New) || s.sockets.has(ask.Socket) {
			return nil
		}
		return p.refusedSocket(ask.New)
	}
	if ask.Op == "read" {
		if p.judge(ask.New).read {
			return nil
		}
		return &Refusal{ask.Op, ask.New, p.why(ask.New, readTool)}
	}
	if ask.Op == "change" {
		return refusedChange(p, ask.New)
	}
	if ask.Old != "" {
		if r := p.refusedMove(ask, held); r != nil {
			return r
		}
	}
	if ask.Op == "exchange" {
		if r := p.refusedWrite(ask.Op, ask.Old); r != nil {
			return r
		}
	}
	if r := p.refusedWrite(ask.Op, ask.New); r != nil {
		return r
	}
	if ask.Op == "symlink" && p.leadsToDenied(ask.New) {
		return &Refusal{ask.Op, ask.New, "a link there would stand for a folder in which rules deny files"}
	}
	return nil
}

// refusedChange judges a call that changes or removes what is at a path. A folder in which something may be
// made is no file that a rule is about.
func refusedChange(p *Profile, abs string) *Refusal {
	info, err := os.Lstat(abs)
	if err == nil && info.IsDir() && p.Writable && p.mayCome(writeTool, abs, true) {
		return nil
	}
	if err == nil && info.Mode()&os.ModeSymlink != 0 && leadsToProtected(p, abs) {
		return &Refusal{"change", abs, "it leads to what is protected"}
	}
	return p.refusedWrite("change", abs)
}

// refusedMove judges link, rename and exchange.
func (p *Profile) refusedMove(ask *wire.Ask, held []string) *Refusal {
	from := p.judge(ask.Old)
	inside := slices.ContainsFunc(p.roots(), func(root string) bool { return contains(root, ask.Old) })
	if inside && (!from.read || !from.write) {
		tool := readTool
		if from.read {
			tool = writeTool
		}
		return &Refusal{ask.Op, ask.Old, p.why(ask.Old, tool)}
	}
	if ask.Op == "link" {
		return nil
	}
	pairs := [][2]string{{ask.Old, ask.New}}
	if ask.Op == "exchange" {
		pairs = append(pairs, [2]string{ask.New, ask.Old})
	}
	for _, pair := range pairs {
		if r := p.refusedRename(ask.Op, pair[0], pair[1], held); r != nil {
			return r
		}
	}
	return nil
}

// refusedRename judges what would be at other places after old is called new.
func (p *Profile) refusedRename(op, old, new string, held []string) *Refusal {
	if gitplace.IsDotGit(filepath.Base(old)) {
		return p.refusedWrite("rename", old)
	}
	for _, h := range held {
		if contains(old, h) {
			return &Refusal{op, old, h + " is denied, and would get another name"}
		}
	}
	info, err := os.Lstat(old)
	if err != nil {
		return nil // the sandbox's own, outside of the workspace
	}
	if info.Mode()&os.ModeSymlink != 0 && p.leadsToDenied(new) {
		return &Refusal{op, new, "a link there would stand for a folder in which rules deny files"}
	}
	if !info.IsDir() {
		return nil
	}
	var refused *Refusal
	err = filepath.WalkDir(old, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == old {
			return nil
		}
		to := new + path[len(old):]
		if v := p.judge(path); !v.read || !v.write {
			refused = &Refusal{op, path, p.why(path, readTool)}
		} else if r := p.refusedWrite(op, to); r != nil && !gitplace.IsDotGit(filepath.Base(to)) {
			refused = r
		}
		if d.Type()&os.ModeSymlink != 0 && p.leadsToDenied(to) {
			refused = &Refusal{op, to, "a link there would stand for a folder in which rules deny files"}
		}
		if refused != nil {
			return filepath.SkipAll
		}
		return nil
	})
	if err != nil {
		return &Refusal{op, old, "what is in it cannot be seen: " + err.Error()}
	}
	return refused
}
