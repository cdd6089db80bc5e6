package program

import "regexp"

// tameNames are variables whose value only changes what a program prints or
// builds for. tameValues are harmless values of others: no pager, no editor,
// plain flags.
var (
	tameNames = regexp.MustCompile(`^(?:CI|NODE_ENV|DEBUG|VERBOSE|TERM|TZ|LANG|LANGUAGE|LC_[A-Z]+|NO_COLOR|FORCE_COLOR|CLICOLOR(?:_FORCE)?|COLUMNS|LINES` +
		`|GO(?:OS|ARCH|ARM|AMD64|MAXPROCS|MEMLIMIT|GC)|GO111MODULE|CGO_ENABLED|RUST_(?:BACKTRACE|LOG)|LOG_LEVEL|PYTHON(?:UNBUFFERED|DONTWRITEBYTECODE|HASHSEED)|PORT` +
		`|SOURCE_DATE_EPOCH|GIT_(?:TERMINAL_PROMPT|OPTIONAL_LOCKS|(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE))|CARGO_TERM_COLOR|NODE_NO_WARNINGS)$`)
	tameValues = regexp.MustCompile(`^(?:(?:GIT_|MAN)?PAGER=(?:cat)?|(?:(?:GIT_|GIT_SEQUENCE_)?EDITOR|VISUAL)=(?:true|:)?|NODE_OPTIONS=--max-old-space-size=[0-9]+` +
		`|GOFLAGS=(?: *-(?:count|mod|tags|race|v|short|p|timeout|trimpath|buildvcs)(?:=[a-zA-Z0-9_.,]+)?)*)$`)
)

// Tame reports whether a variable may have a value without a question.
func Tame(name, value string) bool {
	return tameNames.MatchString(name) || tameValues.MatchString(name+"="+value)
}

// Powerful reports whether a variable decides what programs run, load or read, or
// is one that the shell evaluates. Whatever looks like one counts as one.
func Powerful(name string) bool { return powerful.MatchString(name) && !tameNames.MatchString(name) }

var powerful = regexp.MustCompile(`(?i)PATH|PRELOAD|COMMAND|PAGER|EDITOR|VISUAL|BROWSER|SHELL|BASH|OPTS|OPTIONS|FLAGS|WRAPPER|_HOME|PROXY|CONFIG|STARTUP|ASKPASS|EXEC|CMD|HOOK|LOADER|PROMPT` +
	`|^(?:LD|DYLD|GIT|PS[0-9]|LESS|TAR|RSYNC|NPM|PIP|UV|SSH|SSL|OPENSSL|CURL|WGET|DOCKER|KUBE|AWS|NODE|DENO|BUN|PYTHON|PERL|RUBY|_?JAVA|JDK|LUA|PHP|GO|RUST|CARGO|MAKE|CMAKE|CMP|GCC|GDB|MAN|SUDO` +
	`|POSIX|HIST|MAIL|OLDPWD|PWD|GLOB|FUNC|NLS|GCONV|MALLOC|HOSTALIASES|RES_|TERM|PG|MYSQL|VIM|EX|XDG|EPOCH|DIRSTACK|COPROC|GROUPS|COMP_)` +
	`|^(?:ENV|IFS|HOME|CC|CXX|LD|AR|AS|TIMEFORMAT|RANDOM|SRANDOM|SECONDS|LINENO|OPTIND|OPTARG|OPTERR|UID|EUID|PPID|PIPESTATUS|REPLY|SHLVL|_)$|(?:RC|OPT)$`)

// PlainValue reports whether no program can take a value for a command or a path.
func PlainValue(s string) bool { return plainValue.MatchString(s) }

var plainValue = regexp.MustCompile(`^[A-Za-z0-9_.,:+-]*$`)
