package shell

import (
	"regexp"
	"strings"
)

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
