package shell

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (a *analysis) stmts(st *state, stmts []*syntax.Stmt) {
	for _, s := range stmts {
		a.stmt(st, s)
	}
}

func (a *analysis) stmt(st *state, s *syntax.Stmt) {
	if s == nil {
		return
	}
	if !a.spend(1) {
		return
	}
	if s.Background || s.Coprocess {
		st = st.clone()
	}
	st.went = nil
	before := st
	if len(s.Redirs) > 0 { // the files are opened before the command changes anything
		before = st.clone()
	}
	a.command(st, s.Cmd)
	switch s.Cmd.(type) {
	case *syntax.CallExpr, *syntax.Block, *syntax.BinaryCmd:
	default:
		st.went = nil
	}
	if s.Negated {
		st.went = nil
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
		a.word(st, c.Word)
		var branches []*state
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				a.word(st, p)
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
		if c.Name != nil && startsSimple(c.Stmt) { // no name: a word of the command, for bash
			a.script(st.clone(), strings.TrimPrefix(a.written(c), "coproc"))
			return
		}
		a.stmt(st.clone(), c.Stmt)
	case *syntax.DeclClause:
		a.decl(st, c)
	case *syntax.TestClause:
		a.test(st, c.X)
	case *syntax.ArithmCmd:
		a.arithm(st, c.X)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			a.arithm(st, x)
		}
	default:
		a.unknown(a.written(cmd))
	}
}

// startsSimple reports whether a statement begins with a simple command.
func startsSimple(s *syntax.Stmt) bool {
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return startsSimple(c.X)
	case *syntax.CallExpr, nil:
		return true
	}
	return false
}

func (a *analysis) binary(st *state, c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		a.stmt(st.clone(), c.X)
		right := st.clone()
		a.stmt(right, c.Y)
		st.merge(right) // the last part may run in this shell: lastpipe
		st.went = nil
	case syntax.AndStmt:
		a.stmt(st, c.X)
		right := st.clone()
		right.succeeded()
		a.stmt(right, c.Y)
		right.succeeded()
		st.merge(right)
		st.went = right.dirs()
	default:
		a.stmt(st, c.X)
		right := st.clone()
		a.stmt(right, c.Y)
		st.merge(right)
		st.went = nil
	}
}

func (a *analysis) ifClause(st *state, c *syntax.IfClause) {
	a.stmts(st, c.Cond)
	then := st.clone()
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
		from := len(a.visited)
		round := st.clone()
		body(round)
		changed := st.merge(round)
		st.mayBeIn(a.visited[from:])
		if !changed {
			return
		}
	}
}

func (a *analysis) forClause(st *state, c *syntax.ForClause) {
	switch l := c.Loop.(type) {
	case *syntax.CStyleLoop:
		a.arithm(st, l.Init)
		a.arithm(st, l.Cond)
		a.loop(st, func(st *state) { a.stmts(st, c.Do); a.arithm(st, l.Post) })
	case *syntax.WordIter:
		var items []text
		for _, w := range l.Items {
			for _, t := range a.fields(st, w) {
				items = append(items, a.expanded(st, t)...)
			}
			items = items[:min(len(items), maxItems+1)]
		}
		if c.Select || !l.InPos.IsValid() || len(items) > maxItems || slices.ContainsFunc(items, func(t text) bool { return !t.known }) {
			items = []text{{}}
		}
		a.assigned(l.Name.Value, "")
		a.loop(st, func(st *state) {
			for _, item := range items {
				st.set(l.Name.Value, item)
				a.stmts(st, c.Do)
			}
		})
	default:
		a.unknown(a.written(c))
	}
}

func (a *analysis) funcDecl(st *state, c *syntax.FuncDecl) {
	names := c.Names
	if c.Name != nil {
		names = append(names, c.Name)
	}
	for _, name := range names {
		st.funcs[name.Value] = c.Body
	}
	body := st.clone()
	body.inFunc = append(slices.Clone(body.inFunc), c.Body)
	for name := range body.vars {
		body.vars[name] = text{} // whatever it is at the time of a call
	}
	a.stmt(body, c.Body)
}

// trusted are variables whose value changes nothing but what a program says or
// for whom it builds.
var trusted = regexp.MustCompile(`^(?:CI|NODE_ENV|DEBUG|VERBOSE|TERM|TZ|LANG|LANGUAGE|LC_[A-Z]+|NO_COLOR|FORCE_COLOR|CLICOLOR(?:_FORCE)?|COLUMNS|LINES|GOOS|GOARCH|GOARM|CGO_ENABLED|GOMAXPROCS|GOMEMLIMIT|GOGC|RUST_BACKTRACE|RUST_LOG|LOG_LEVEL|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|PORT|SOURCE_DATE_EPOCH|GO111MODULE|GOAMD64|GIT_TERMINAL_PROMPT|GIT_OPTIONAL_LOCKS|GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|CARGO_TERM_COLOR|NODE_NO_WARNINGS)$`)

// tameValues are the values of variables that can do much, by which they do
// little: no pager, no editor, plain flags.
var tameValues = regexp.MustCompile(`^(?:(?:GIT_|MAN)?PAGER=(?:cat)?|(?:(?:GIT_|GIT_SEQUENCE_)?EDITOR|VISUAL)=(?:true|:)?|GOFLAGS=(?: *-(?:count|mod|tags|race|v|short|p|timeout|trimpath|buildvcs)(?:=[a-zA-Z0-9_.,]+)?)*|NODE_OPTIONS=--max-old-space-size=[0-9]+)$`)

// tame reports whether a variable may have a value without a question.
func tame(name string, value text) bool {
	return value.known && (trusted.MatchString(name) || tameValues.MatchString(name+"="+value.s))
}

// powerful are names of variables that decide what programs run, load or
// read. Whatever looks like one counts as one.
var powerful = regexp.MustCompile(`(?i)PATH|PRELOAD|^LD_|^DYLD_|^GIT|COMMAND|PAGER|EDITOR|VISUAL|BROWSER|SHELL|^ENV$|BASH|^IFS$|^HOME$|XDG|OPT$|OPTS|OPTIONS|FLAGS|WRAPPER|^CC$|^CXX$|^LD$|^AR$|^AS$|_HOME|PROXY|CONFIG|RC$|STARTUP|ASKPASS|EXEC|CMD|HOOK|LOADER|^PS[0-9]|PROMPT|^LESS|^TAR_|^RSYNC|^NPM|^PIP|^UV_|^SSH|^DOCKER|^KUBE|^AWS|^NODE_|^DENO|^BUN|^PYTHON|^PERL|^RUBY|^JAVA|^_JAVA|^JDK|^LUA|^PHP|^GO|^RUST|^CARGO|^MAKE|^CMAKE|^CMP|^GCC|^GDB|^MAN|^SUDO|^TMP|^TEMP|^POSIX|^HIST|^MAIL|^CDPATH|^OLDPWD|^PWD|^GLOB|^FUNC|^LOCPATH|^NLSPATH|^GCONV|^MALLOC|^HOSTALIASES|^RES_|^TERMINFO|^TERMCAP|^OPENSSL|^SSL|^CURL|^WGET|^PG|^MYSQL|^VIM|^EX`)

// assigned judges an assignment of a variable: one that decides what programs
// do makes everything after it unknown.
func (a *analysis) assigned(name, written string) {
	if powerful.MatchString(name) && !trusted.MatchString(name) {
		if written == "" {
			written = name + "="
		}
		a.unknown(written)
	}
}

// plainValue is a value that no program can take for a command or a path.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9_.,:+-]*$`)

// assigns follows the assignments before a command, or alone.
func (a *analysis) assigns(st *state, list []*syntax.Assign, forCommand bool) {
	for _, as := range list {
		value := a.assign(st, as)
		if as.Name == nil {
			continue
		}
		name := as.Name.Value
		switch {
		case !forCommand:
			if !tame(name, value) {
				a.assigned(name, a.written(as))
			}
			st.set(name, value)
		case tame(name, value):
		case powerful.MatchString(name), !value.known, !plainValue.MatchString(value.s):
			a.unknown(a.written(as))
			if value.known && strings.ContainsAny(value.s, " \t") { // it may be a command
				a.script(st.clone(), value.s)
			}
		}
	}
}

// assign looks at one assignment and returns its value.
func (a *analysis) assign(st *state, as *syntax.Assign) text {
	a.arithm(st, as.Index)
	if as.Array != nil {
		for _, e := range as.Array.Elems {
			a.arithm(st, e.Index)
			a.word(st, e.Value)
		}
		return text{}
	}
	if as.Value == nil {
		return text{s: "", known: !as.Naked}
	}
	value := a.word(st, as.Value)
	if as.Append || as.Index != nil {
		return text{}
	}
	value.glob, value.split = false, false
	return value
}

// decl follows declare, export and their like.
func (a *analysis) decl(st *state, c *syntax.DeclClause) {
	for _, as := range c.Args {
		value := a.assign(st, as)
		switch {
		case as.Name == nil && as.Value != nil: // an option, or a word that expands
			if t := a.word(st, as.Value); !t.known || !strings.HasPrefix(t.s, "-") || strings.ContainsAny(t.s, "nfi") {
				a.unknown(a.written(c)) // a reference, a function, arithmetic
			}
		case as.Name == nil:
		case as.Naked:
			a.assigned(as.Name.Value, a.written(c))
			if c.Variant.Value != "export" && c.Variant.Value != "readonly" {
				st.set(as.Name.Value, text{})
			}
		default:
			if !tame(as.Name.Value, value) {
				a.assigned(as.Name.Value, a.written(c))
				if c.Variant.Value == "export" && (!value.known || !plainValue.MatchString(value.s)) {
					a.unknown(a.written(c))
				}
			}
			st.set(as.Name.Value, value)
		}
	}
}
