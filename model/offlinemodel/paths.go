package offlinemodel

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// fileExtensions are the ends of names that are taken for files in a prompt.
var fileExtensions = wordSet(`
adoc bash bat bicep c cc cfg cjs clj cljs cmake conf config cpp cs css csv cu cxx dart diff dockerfile ejs elm env erl ex exs
f90 fs fsx gemspec go gradle graphql groovy h hbs hcl hh hpp hrl hs htm html ini ipynb java jl js json json5 jsonc jsonl jsx
kt kts less lock log lua m mdx md mjs mk ml mli mm mod nim nix org patch php pl pm plist po prisma properties proto ps1
py pyi pyx r rb rkt rs rst sass sbt scala scm scss sh sln sol sql sum svelte svg swift tcl template tex tf tfvars toml ts
tsx txt v vb vim vue work xml yaml yml zig zsh
`)

// shoutedNames are files without an extension that are words otherwise: they
// are files where they are written in capitals.
var shoutedNames = wordSet("README LICENSE LICENCE COPYING CHANGELOG CONTRIBUTING AUTHORS CODEOWNERS NOTICE SECURITY VERSION")

// plainNames are files however they are written.
var plainNames = wordSet(`
makefile gnumakefile dockerfile containerfile jenkinsfile vagrantfile procfile gemfile rakefile brewfile justfile
go.mod go.sum go.work cargo.lock yarn.lock poetry.lock gemfile.lock composer.lock uv.lock
`)

// productNames end like files, and are none.
var productNames = wordSet("node.js vue.js next.js nuxt.js express.js react.js d3.js three.js angular.js backbone.js ember.js asp.net")

var (
	pathChars = regexp.MustCompile(`^[\p{L}\p{N}_.@~+()\[\]$/-]+$`)
	pathLine  = regexp.MustCompile(`^(.+?)[:#]L?(\d{1,7})(?:[:-]\d+)?$`)
	dotFile   = regexp.MustCompile(`^\.[a-z][a-zA-Z0-9_-]+(?:\.[a-zA-Z0-9_-]+)*$`)
)

// parsePath reports whether a token of a prompt is a path, and which. Where it
// is quoted, a name with a slash is one; else it may be words as well.
func parsePath(s string, quoted bool) (pathRef, bool) {
	p := pathRef{path: s}
	if m := pathLine.FindStringSubmatch(s); m != nil {
		p.path = m[1]
		p.line, _ = strconv.Atoi(m[2]) // at most 7 digits
	}
	p.path = strings.TrimPrefix(strings.ReplaceAll(p.path, `\`, "/"), "./")
	if !pathChars.MatchString(p.path) || strings.Trim(p.path, "./~") == "" || strings.Contains(p.path, "//") {
		return pathRef{}, false
	}
	slash := strings.Contains(p.path, "/")
	if p.file = isFileName(path.Base(p.path), slash); p.file {
		return p, true
	}
	if !slash {
		return pathRef{}, false
	}
	p.path = strings.TrimSuffix(p.path, "/")
	p.loose = !quoted && strings.Count(s, "/") == 1 && !strings.HasSuffix(s, "/")
	return p, true
}

// isFileName reports whether a name looks like that of a file. Without a
// folder before it, it must not look like a member of something instead.
func isFileName(base string, inFolder bool) bool {
	low := strings.ToLower(base)
	if plainNames[low] || shoutedNames[base] || dotFile.MatchString(base) {
		return true
	}
	stem, ext, ok := cutLast(low, ".")
	return ok && stem != "" && fileExtensions[ext] && !productNames[low] && (inFolder || !memberNames[ext])
}

// memberNames are ends of files that are names of members as often: Config.log.
var memberNames = wordSet("config conf env log template work mod sum m r v lock diff patch po properties org ex key map sub")

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
