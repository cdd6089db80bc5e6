package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/gitplace"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/symlink"
)

// homeFolders are what builds need of the home folder: programs are read, caches are copied on
// write. A folder in which some program keeps credentials is listed by what else is in it.
var homeFolders = map[Access][]string{
	Read: {
		"go/bin", "sdk", ".rustup", ".cargo/bin", ".cargo/env", ".nvm", ".fnm", ".local/share/fnm", ".volta",
		".bun/bin", ".bun/install", ".deno/bin",
		".asdf", ".local/share/mise/bin", ".local/share/mise/installs", ".local/share/mise/plugins", ".local/share/mise/shims",
		".pyenv", ".rbenv", ".rvm", ".sdkman", ".jenv", ".local/bin", ".local/lib", ".local/pipx", ".local/share/pipx",
		".local/share/uv/python", ".local/share/uv/tools",
		".dotnet/dotnet", ".dotnet/host", ".dotnet/library-packs", ".dotnet/metadata", ".dotnet/packs", ".dotnet/sdk", ".dotnet/sdk-manifests",
		".dotnet/shared", ".dotnet/templates", ".dotnet/tools",
		".ghcup", ".opam", ".nix-profile",
	},
	Copy: {
		".cache/go-build", "go/pkg", ".cache/golangci-lint", ".cache/staticcheck", ".cargo/registry", ".cargo/git",
		".npm/_cacache", ".cache/yarn", ".yarn/berry", ".local/share/pnpm", ".cache/pnpm", ".cache/node-gyp", ".cache/pip", ".cache/uv", ".cache/pypoetry",
		".cache/pre-commit", ".gradle/caches", ".gradle/wrapper", ".m2/repository", ".m2/wrapper", ".nuget/packages", ".cache/bazel", ".ccache", ".cache/ccache",
	},
}

// homeSettings are files of settings that builds need. One that holds a credential is not shown.
var homeSettings = []string{
	".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes", ".config/go/env",
	".cargo/config.toml", ".cargo/config", ".config/mise/config.toml", ".config/mise/settings.toml",
}

// homeMixed are patterns of files of settings among programs and caches. One that holds a
// credential is not there.
var homeMixed = []string{
	".nvm/versions/node/*/etc/npmrc", ".fnm/node-versions/*/installation/etc/npmrc", ".local/share/fnm/node-versions/*/installation/etc/npmrc",
	".volta/tools/image/node/*/etc/npmrc", ".asdf/installs/nodejs/*/etc/npmrc", ".local/share/mise/installs/node/*/etc/npmrc",
	".bun/install/global/.npmrc", ".bun/install/global/bunfig.toml", ".local/share/pnpm/rc", ".local/share/pnpm/auth.ini", ".local/share/pnpm/global/*/.npmrc",
	".pyenv/versions/*/pip.conf", ".local/pipx/venvs/*/pip.conf", ".local/share/pipx/venvs/*/pip.conf", ".local/share/uv/tools/*/pip.conf",
	".cargo/git/db/*/config", ".cargo/git/checkouts/*/*/.git/config", ".cache/pre-commit/*/.git/config", "go/pkg/mod/cache/vcs/*/config",
	".asdf/plugins/*/.git/config", ".local/share/mise/plugins/*/.git/config", ".pyenv/.git/config", ".rbenv/.git/config", ".asdf/.git/config", ".nvm/.git/config",
	".sdkman/etc/config", ".rvm/.git/config", ".opam/config", ".ghcup/config.yaml",
}

// DefaultFolders returns what builds need of a home folder: caches, toolchains
// and git's settings. Missing ones do no harm.
func DefaultFolders(home string) []Folder {
	if home == "" {
		return []Folder{}
	}
	var out []Folder
	for _, name := range homeSettings {
		if path := filepath.Join(home, name); !holdsCredential(path) {
			out = append(out, Folder{Path: path, Access: Read})
		}
	}
	for _, access := range []Access{Read, Copy} {
		for _, name := range homeFolders[access] {
			out = append(out, Folder{Path: filepath.Join(home, name), Access: access})
		}
	}
	return out
}

// maxSettings bounds a file of settings that is looked at.
const maxSettings = 1 << 20

// credentialLine matches a setting by whose name a value is a credential, and a password in an address.
var credentialLine = regexp.MustCompile(`(?im)^[^#;\n]*?(token|password|passwd|secret|api_?key|access_?key|_auth|auth_?key|private_?key|extraheader)["']?\s*[=:]|://[^/\s"'@]+@`)

// holdsCredential reports whether a file of settings holds a credential, as far as that can be told
// from its text. One that can't be read is taken to hold one.
func holdsCredential(path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false // nothing is shown
	}
	text, err := boundedfile.Read(path, maxSettings)
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(text)) {
		if credentialLine.MatchString(line) && !sshAddress.MatchString(line) {
			return true
		}
	}
	return secrets.Mask(string(text)) != string(text)
}

// sshAddress matches an address whose user is no secret.
var sshAddress = regexp.MustCompile(`ssh://[a-z]+@`)

// secretsOf returns the files of settings among what is shown of a home folder that hold a
// credential.
func secretsOf(home string) (paths []string) {
	if home == "" {
		return nil
	}
	for _, pattern := range homeMixed {
		found, _ := filepath.Glob(globMeta.ReplaceAllString(home, `\$0`) + "/" + pattern)
		for _, path := range found {
			if holdsCredential(path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

var globMeta = regexp.MustCompile(`[*?\[\\]`)

// WrittenIn returns the folders in which commands may write. Links there may be made by an agent.
func WrittenIn(p *Profile) (dirs []string) {
	dirs = append(slices.Clone(p.GitDirs), p.Workspace)
	if p.as != "" {
		dirs = append(dirs, p.as)
	}
	for _, f := range p.Folders {
		if f.Access == Write {
			dirs = append(dirs, f.Path)
		}
	}
	for _, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
			dirs = append(dirs, real)
		}
	}
	return dirs
}

// RealPath returns where an absolute path leads. It is an error if the way there is through a link in one of the
// folders written, in which commands write.
func RealPath(path string, written []string) (real string, err error) {
	at := filepath.VolumeName(path) + string(filepath.Separator)
	rest := symlink.Split(path)
	for name, ok := rest.Next(); ok; name, ok = rest.Next() {
		next := filepath.Join(at, name) // also of "..": at is a real path
		text, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if i := slices.IndexFunc(written, func(dir string) bool { return gitplace.Within(dir, next) }); i >= 0 {
			return "", fmt.Errorf("%s is a link in %s, where commands write: it is not followed", next, written[i])
		}
		root, err := rest.Follow(text)
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		if root != "" {
			at = root
		}
	}
	_, err = os.Lstat(at)
	return at, err
}
