package shell

import (
	"regexp"
)

// wrapper describes a command whose operands are a command.
type wrapper struct {
	short    string   // letters of the options that take the next word
	long     []string // long options that take the next word
	operands int      // operands before the command
}

// wrappers run the command that their operands are.
var wrappers = map[string]wrapper{
	"builtin": {}, "command": {}, "exec": {short: "a"}, "nohup": {}, "setsid": {}, "noglob": {},
	"nice": {short: "n", long: []string{"--adjustment"}}, "ionice": {short: "cnpPu", long: []string{"--class", "--classdata"}},
	"timeout": {short: "ks", long: []string{"--kill-after", "--signal"}, operands: 1}, "gtimeout": {short: "ks", operands: 1},
	"stdbuf": {short: "ioe", long: []string{"--input", "--output", "--error"}}, "time": {short: "fo", long: []string{"--format", "--output"}},
	"sudo": {short: "ugpCrtTURDh", long: []string{"--user", "--group", "--chdir", "--prompt", "--host", "--chroot"}},
	"doas": {short: "uC"}, "pkexec": {long: []string{"--user"}}, "chroot": {long: []string{"--userspec", "--groups"}, operands: 1}, "chrt": {short: "TPD", operands: 1},
	"taskset": {operands: 1}, "unshare": {short: "SGR"}, "nsenter": {short: "tSG", long: []string{"--target"}},
	"strace": {short: "aebEIoOpPsSuUX"}, "ltrace": {short: "aeoDFlnpsux"}, "valgrind": {}, "catchsegv": {}, "perf": {operands: 1},
	"busybox": {}, "toybox": {}, "fakeroot": {}, "firejail": {}, "bwrap": {}, "unbuffer": {}, "caffeinate": {short: "tw"},
	"xvfb-run": {short: "neslwf"}, "dbus-run-session": {}, "setarch": {operands: 1}, "linux32": {}, "linux64": {}, "prlimit": {},
	"flock": {short: "wE", long: []string{"--timeout"}, operands: 1}, "systemd-run": {short: "pMu"}, "start-stop-daemon": {},
	"coproc": {}, "rlwrap": {}, "chronic": {}, "ts": {}, "proot": {short: "rbw"}, "setpriv": {}, "capsh": {}, "runcon": {operands: 1},
	"entr": {}, "daemonize": {}, "gosu": {operands: 1}, "su-exec": {operands: 1}, "tini": {}, "dumb-init": {}, "numactl": {},
	"watch": {short: "nq", long: []string{"--interval"}}, "hyperfine": {short: "wrmMPLu"}, "dotenv": {short: "ef"}, "cross-env": {},
	"ssh-agent": {short: "aEt"}, "nodemon": {short: "ew"}, "eatmydata": {}, "torsocks": {}, "proxychains": {short: "f"}, "torify": {}, "xargs": {short: "aEIdLnPs"},
}

// joiners join their operands to a script, rather than run them as words.
var joiners = []string{"watch", "hyperfine", "nodemon"}

// runners run a program of a project, whose words come after some of their
// own. Their own rule is enough, but what denies the program holds.
var runners = map[string]bool{
	"npx": true, "bunx": true, "pnpx": true, "uvx": true, "npm": true, "pnpm": true, "yarn": true, "bun": true, "uv": true,
	"poetry": true, "pipenv": true, "pipx": true, "conda": true, "mamba": true, "bundle": true, "rbenv": true, "pyenv": true,
	"nodenv": true, "mise": true, "asdf": true, "direnv": true, "nix": true, "op": true, "aws-vault": true, "doppler": true,
	"infisical": true, "rye": true, "hatch": true, "pdm": true, "devbox": true, "volta": true, "fnm": true, "nvm": true, "git": false,
}

// shells run scripts.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash", "fish", "csh", "tcsh", "yash", "oksh", "posh", "pwsh", "powershell"}

// interpreters run code that is no shell's: given on the command line or on
// standard input, nothing can be known of it.
var interpreters = regexp.MustCompile(`^(?:python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|osascript|Rscript|R|julia|tclsh|wish|groovy|scala|elixir|iex|erl|ghci|guile|racket|sbcl|clisp|raku|ts-node|tsx|irb|jshell|jrunscript|ipython|expect|gdb|lldb|m4|bc|ed|ex|vi|vim|nvim|view|emacs|nano|sqlite3|ocaml|swipl|octave)[0-9.]*$`)

// inlineFlags are the options by which interpreters take code.
var inlineFlags = regexp.MustCompile(`^(?:-[a-zA-Z]*[ceErRpnCx]|-{1,2}(?:eval|print|command|cmd|require|import|execute|run|expr|code)(?:=.*)?|eval|repl|\+.*|-[ceErRp].+|-S|--batch|-batch|-f|--script|-init|-cmd)$`)

// optionWords are the options of interpreters that take the next word.
var optionWords = regexp.MustCompile(`^(?:-[WXQIl]|--check-hash-based-pycs|--loader|--conditions|--import-map|--config)$`)

// programModules are the modules of Python that run other code, or read files
// that no word names.
var programModules = wordSet(`pdb timeit code cProfile profile trace runpy idlelib doctest zipfile tarfile zipapp http.server`)

var moduleOption = regexp.MustCompile(`^-[a-zA-Z]*?m(.*)$`)
