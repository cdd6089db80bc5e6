package shell

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
