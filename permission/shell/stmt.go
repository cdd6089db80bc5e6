package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agentworker/worker/permission"
)

func (a *analysis) stmts(st *state, stmts []*syntax.Stmt) {
	for _, s := range stmts {
		a.stmt(st, s)
	}
}

func (a *analysis) stmt(st *state, s *syntax.Stmt) {
	if s == nil || !a.spend(1) {
		return
	}
	if s.Background || s.Coprocess {
		st = st.clone()
	}
	st.went = ""
	before := st
	a.input = ""
	if len(s.Redirs) > 0 { // the files are opened before the command changes anything
		before = st.clone()
		for _, r := range s.Redirs {
			if r.Hdoc != nil || r.Op == syntax.WordHdoc {
				a.input = strings.TrimSpace(a.written(r))
			}
		}
	}
	a.command(st, s.Cmd)
	switch s.Cmd.(type) {
	case *syntax.CallExpr, *syntax.Block, *syntax.BinaryCmd:
	default:
		st.went = ""
	}
	if s.Negated {
		st.went = ""
	}
	for _, r := range s.Redirs {
		a.redirect(before, r)
	}
	if before != st {
		for _, path := range before.written {
			st.wrote(path)
		}
	}
}

func (a *analysis) command(st *state, cmd syntax.Command) {
	if a.plainer {
		switch cmd.(type) {
		case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CoprocClause, *syntax.DeclClause:
			a.unknown(a.written(cmd), "not all shells read it as bash does: use bash -c, or [ and $((…))")
		}
	}
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		a.call(st, c)
	case *syntax.Block:
		a.stmts(st, c.Stmts)
	case *syntax.Subshell:
		a.stmts(st.clone(), c.Stmts)
	case *syntax.BinaryCmd:
		a.binary(st, c)
	case *syntax.IfClause:
		a.ifClause(st, c)
	case *syntax.WhileClause:
		a.loop(st, func(st *state) { a.stmts(st, c.Cond); a.stmts(st, c.Do) })
	case *syntax.ForClause:
		a.forClause(st, c)
	case *syntax.CaseClause:
		a.expand(st).word(c.Word)
		var branches []*state
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				a.expand(st).word(p)
			}
			branch := st.clone()
			a.stmts(branch, item.Stmts)
			branches = append(branches, branch)
		}
		st.merge(branches...)
	case *syntax.FuncDecl:
		a.funcDecl(st, c)
	case *syntax.TimeClause:
		a.stmt(st, c.Stmt)
	case *syntax.CoprocClause:
		a.unknown(a.written(c), "what a coprocess is called, and what it runs, is read in more than one way")
		a.stmt(st.clone(), c.Stmt)
	case *syntax.DeclClause:
		a.decl(st, c)
	case *syntax.TestClause:
		a.expand(st).test(c.X)
	case *syntax.ArithmCmd:
		a.expand(st).arithm(c.X)
	case *syntax.LetClause:
		a.add(permission.Value{Tool: a.tool, Text: a.written(c), Written: a.written(c)})
		for _, x := range c.Exprs {
			a.expand(st).arithm(x)
		}
	default:
		a.unknown(a.written(cmd), "the construct is not known")
	}
}

func (a *analysis) binary(st *state, c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		a.stmt(st.clone(), c.X)
		right := st.clone()
		a.stmt(right, c.Y)
		st.merge(right) // the last part may run in this shell: lastpipe
	case syntax.AndStmt:
		a.stmt(st, c.X)
		right := st.clone()
		right.succeeded()
		a.stmt(right, c.Y)
		right.succeeded()
		went := right.cwd
		st.merge(right)
		st.went = went
	default:
		a.stmt(st, c.X)
		right := st.clone()
		a.stmt(right, c.Y)
		st.merge(right)
	}
}

func (a *analysis) ifClause(st *state, c *syntax.IfClause) {
	a.stmts(st, c.Cond)
	then := st.clone()
	then.succeeded()
	a.stmts(then, c.Then)
	other := st.clone()
	if c.Else != nil {
		a.ifClause(other, c.Else)
	}
	st.merge(then, other)
}

// loop looks at a body that runs any number of times: a second time where
// the first changed something.
func (a *analysis) loop(st *state, body func(*state)) {
	for range 2 {
		round := st.clone()
		body(round)
		if !st.merge(round) {
			return
		}
	}
}

func (a *analysis) forClause(st *state, c *syntax.ForClause) {
	switch l := c.Loop.(type) {
	case *syntax.CStyleLoop:
		a.expand(st).arithm(l.Init)
		a.loop(st, func(st *state) { a.expand(st).arithm(l.Cond); a.stmts(st, c.Do); a.expand(st).arithm(l.Post) })
	case *syntax.WordIter:
		var items []text
		for _, w := range l.Items {
			items = append(items, a.expand(st).fields(w)...)
			items = items[:min(len(items), maxItems+1)]
		}
		if c.Select || !l.InPos.IsValid() || len(items) > maxItems || slices.ContainsFunc(items, func(t text) bool { return !t.known }) {
			items = []text{{}}
		}
		a.assigned(l.Name.Value, "")
		with := strings.TrimSpace(a.written(l))
		a.loop(st, func(st *state) {
			for _, item := range items {
				item.with = with
				st.set(l.Name.Value, item)
				a.stmts(st, c.Do)
			}
		})
	default:
		a.unknown(a.written(c), "the loop is not known")
	}
}

func (a *analysis) funcDecl(st *state, c *syntax.FuncDecl) {
	names := c.Names
	if c.Name != nil {
		names = append(names, c.Name)
	}
	for _, name := range names {
		st.funcs[name.Value] = function{body: c.Body, sure: true}
	}
	body := st.clone()
	body.inFunc = append(body.inFunc, c.Body)
	for name := range body.vars {
		body.vars[name] = text{} // whatever it is at the time of a call
	}
	body.cwd = ""
	a.stmt(body, c.Body)
}
