package shell

import (
	"regexp"
	"slices"
	"strings"
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

// wordSet returns the words of s.
func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

var (
	// pathless commands open none of their operands.
	pathless = wordSet(`echo printf true false : cd pushd popd export unset read sleep exit return break continue shift wait
		kill killall pkill date dirname basename seq expr pwd which type whoami id uname hostname uptime yes nproc tty clear
		set umask ulimit jobs fg bg disown let getopts trap times ps df free env command builtin exec nohup timeout nice sudo eval
		find fd xargs parallel time watch sh bash ls test [ mkdir rmdir stat readlink realpath`)

	// readers open every operand, whether or not it is there yet.
	readers = wordSet(`cat bat batcat head tail less more tac nl od xxd hexdump hd strings base64 base32 basenc wc sort uniq cut
		paste join comm diff diff3 sdiff cmp colordiff md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum rev
		fold fmt column expand unexpand pr iconv view vi vim nvim nano emacs source . cp mv ln install scp rsync tar bsdtar zip gzip
		bzip2 xz zstd zcat bzcat xzcat zless zgrep gunzip bunzip2 unxz 7z split csplit tsort shuf tee dos2unix unix2dos openssl gpg
		mapfile readarray glow mdcat pygmentize highlight file od look`)

	// recursive commands also open what is below a folder, with one of the
	// letters or words as an option; "": always.
	recursive = map[string]string{
		"grep": "rR --recursive --dereference-recursive", "egrep": "rR --recursive", "fgrep": "rR --recursive", "zgrep": "rR",
		"rg": "", "ag": "", "ack": "", "ugrep": "", "cp": "raR --recursive --archive", "mv": "", "scp": "r", "rsync": "ra --recursive --archive",
		"tar": "", "bsdtar": "", "gtar": "", "zip": "r --recurse-paths", "7z": "", "diff": "", "gzip": "r", "pax": "",
	}

	// uploaders may read what is below a folder that they are given.
	uploaders = wordSet(`docker podman nerdctl kubectl oc aws gsutil gcloud rclone az mc s3cmd`)

	// listed finds the options by which a command is told in a file, or on its
	// input, which files to read.
	listed = map[string]*regexp.Regexp{
		"tar": regexp.MustCompile(`^-[a-zA-Z]*T|^--files-from|^--exclude-from`), "zip": regexp.MustCompile(`^-@|^-[a-zA-Z]*@`),
		"rsync": regexp.MustCompile(`^--files-from`), "cpio": regexp.MustCompile(`^-o|^--create|^-p`), "wc": regexp.MustCompile(`^--files0-from`),
		"sort": regexp.MustCompile(`^--files0-from`), "du": regexp.MustCompile(`^--files0-from`), "pax": regexp.MustCompile(`^-[a-z]*w`),
	}

	// searchers go through the folder they are in when they are given none.
	searchers = wordSet(`rg ag ack ugrep grep egrep fgrep`)
)

// escapeFlags are the options by which commands that do other things run a
// program of the caller's choice, or read what to do from standard input.
var escapeFlags = map[string]*regexp.Regexp{
	"ssh":        regexp.MustCompile(`(?i)^-o$|^-o.|proxycommand|localcommand|^-F`),
	"scp":        regexp.MustCompile(`^-o|^-S|^-F`),
	"sftp":       regexp.MustCompile(``),
	"rsync":      regexp.MustCompile(`^-[a-zA-Z]*e$|^-e|^--rsh|^--rsync-path`),
	"tar":        regexp.MustCompile(`^--(?:to-command|checkpoint-action|use-compress-program|rsh-command|info-script|new-volume-script|rmt-command)|^-I|^-F`),
	"zip":        regexp.MustCompile(`^-T|^--unzip-command|^-TT`),
	"make":       regexp.MustCompile(`^-f(?:-|/dev/.*|/proc/.*)$|^(?:-|/dev/.*|/proc/.*)$|^--eval|^-E|^(?:SHELL|MAKEFLAGS|\.SHELLFLAGS)[:+?]?=|^--(?:file|makefile)=(?:-|/dev|/proc)`),
	"sort":       regexp.MustCompile(`^--compress-prog`),
	"split":      regexp.MustCompile(`^--filter`),
	"go":         regexp.MustCompile(`^--?(?:exec|toolexec|vettool|overlay)(?:=|$)`),
	"man":        regexp.MustCompile(`^-[PH]|^--(?:pager|html)`),
	"nc":         regexp.MustCompile(`^-[a-z]*[ec]`),
	"socat":      regexp.MustCompile(`(?i)exec:|system:|shell:`),
	"gcc":        regexp.MustCompile(`^-wrapper|^-B|^-fplugin|^-specs|^@`),
	"cargo":      regexp.MustCompile(`^--config`),
	"less":       regexp.MustCompile(`^\+|^-[kK]|^--lesskey`),
	"curl":       regexp.MustCompile(`^-K|^--config`),
	"wget":       regexp.MustCompile(`^--(?:use-askpass|config|execute)|^-e|^-i$|^--input-file`),
	"npm":        regexp.MustCompile(`^--?(?:script-shell|shell|node-options|userconfig|globalconfig|init-module|git|editor|viewer|call)(?:=|$)`),
	"ssh-keygen": regexp.MustCompile(`^-D`), "ssh-add": regexp.MustCompile(`^-s`),
	"sqlite3": regexp.MustCompile(`(?i)^\.|\n\.|readfile|writefile|load_extension|attach|edit\(`),
	"psql":    regexp.MustCompile(`\\(?:!|i|ir|o|g|s|copy|w|e)|(?i)pg_read|copy`), "mysql": regexp.MustCompile(`(?i)system|source|\\!|load_file|infile|outfile|--pager`),
	"ansible": regexp.MustCompile(`^-[am]|^--(?:args|module-name)`), "lftp": regexp.MustCompile(``), "gnuplot": regexp.MustCompile(`^-e`), "dc": regexp.MustCompile(`!`),
	"apt-get": regexp.MustCompile(`^-o|^--option|^-c|^--config-file`), "latex": regexp.MustCompile(`^\\|shell-escape|enable-write18`),
	"ftp": regexp.MustCompile(``), "rpm": regexp.MustCompile(`^--eval|^--define|^-[DE]`), "run-parts": regexp.MustCompile(``),
	"tmux": regexp.MustCompile(``), "screen": regexp.MustCompile(``), "at": regexp.MustCompile(``),
	"batch": regexp.MustCompile(``), "crontab": regexp.MustCompile(`^[^-]|^-$|^-[er]`),
}

// escapeAlias are commands that share another's options.
var escapeAlias = map[string]string{"bsdtar": "tar", "gtar": "tar", "gmake": "make", "ncat": "nc", "more": "less",
	"g++": "gcc", "cc": "gcc", "clang": "gcc", "pnpm": "npm", "yarn": "npm", "apt": "apt-get", "mariadb": "mysql",
	"pdflatex": "latex", "xelatex": "latex", "lualatex": "latex", "tex": "latex", "pdftex": "latex"}

// escapes reports whether an option makes the command run something else.
func (a *analysis) escapes(name string, v argv) bool {
	if to, ok := escapeAlias[name]; ok {
		name = to
	}
	re, ok := escapeFlags[name]
	if !ok {
		return false
	}
	if len(v) == 1 {
		return slices.Contains([]string{"tmux", "screen", "at", "batch", "crontab", "ftp"}, name)
	}
	words := v[1:]
	if name == "npm" { // what follows is for the script
		if i := slices.IndexFunc(words, func(t text) bool { return t.s == "--" }); i >= 0 {
			words = words[:i]
		}
	}
	return slices.ContainsFunc(words, func(t text) bool { return re.MatchString(t.s) })
}

// awkCode are the options of awk that take code from somewhere else.
var awkCode = regexp.MustCompile(`^-[feilEW]|^--(?:file|source|exec|include|load)`)

// program judges the first operand of a command as code.
func (a *analysis) program(v argv, dangerous *regexp.Regexp, withArg string) {
	for _, t := range v[1:] {
		if awkCode.MatchString(t.s) {
			a.unknown(v.line())
			return
		}
	}
	args := operands(v[1:], withArg)
	if len(args) > 0 && (!args[0].known || dangerous.MatchString(args[0].s)) {
		a.unknown(v.line())
	}
}

// keywords mean something to the shell where a command begins, and nothing
// behind "sudo".
var keywords = wordSet(`! { } if then elif else fi while until do done for case esac in function select [[ ]] coproc`)

// inert are programs that take words which may look like commands.
var inert = wordSet(`gh hub glab hg svn helm terraform tofu pulumi vault man apropos whatis info tldr whereis help brew dnf yum pacman
	systemctl service loginctl journalctl launchctl gem composer mvn gradle rake mix rustup rustc javac java dotnet swift
	jq yq xmllint tree du chsh passwd gpg hostname ping dig nslookup host ifconfig netstat ss lsof pgrep fuser mount umount basename logger
	notify-send prettier eslint tsc jest vitest mocha pytest ruff black mypy golangci-lint staticcheck gopls gofmt goimports sqlc
	bazel buck ninja rails heroku vercel netlify fly flyctl firebase serverless sops age`)

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
