package offlinemodel

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// topic is something that people ask of any repository, and where repositories
// answer it.
type topic struct {
	name    string
	asked   *regexp.Regexp
	words   map[string]bool // stems that the topic accounts for
	alone   bool            // the topic holds only where the prompt names nothing else
	sources []topicSource
}

// topicSource says where an answer may stand: on the first line that matches
// find, in the files whose names match.
type topicSource struct{ files, find *regexp.Regexp }

const (
	readmes   = `^(.*/)?readme(\.\w+)?$`
	manifests = `^(.*/)?(package\.json|pyproject\.toml|setup\.(cfg|py)|cargo\.toml|go\.mod|pom\.xml|build\.gradle(\.kts)?|composer\.json|[^/]+\.gemspec|gemfile|[^/]+\.csproj|mix\.exs|pubspec\.yaml|package\.swift|cmakelists\.txt|configure\.ac|build\.sbt|meson\.build|build\.zig|deno\.json|[^/]+\.cabal|libs\.versions\.toml|rebar\.config|stack\.yaml|requirements\.txt|version)$`
	makefiles = `^(makefile(\.am)?|justfile|rakefile|noxfile\.py|tox\.ini|taskfile\.ya?ml|cmakelists\.txt|src/makefile)$`
	guides    = `^(\.github/|docs?/)?(contributing|development|developing|hacking|testing|building)(\.\w+)?$`
	workflows = `^\.github/workflows/.*\.ya?ml$|^\.(travis|gitlab-ci|appveyor)\.ya?ml$|^\.circleci/config\.yml$|^jenkinsfile$`
	anyLine   = `\S`
)

// heading matches a heading with one of the words.
func headingOf(words string) string {
	return `(?i)^(#{1,6}\s|=+\s|\*\*|<h\d).*\b(` + words + `)|^(` + words + `)[\w &-]{0,30}:?$`
}

// topics in the order in which they are tried.
var topics = []*topic{
	newTopic("license", `\blicen[cs](e|es|ed|ing)\b|\bcopyright\b`, false,
		`^(licen[cs]es?|copying|unlicense)([.-].*)?$`, licenseName, `^(licen[cs]es?|copying|unlicense)([.-].*)?$`, anyLine, manifests, `(?i)licen[cs]e`, readmes, headingOf(`licen[cs]\w*`)),
	newTopic("security report", `\b(report|disclos\w+)\b.*\b(security|vulnerabilit\w+)|\bsecurity (issues?|polic\w+|problems?|bugs?|holes?)|vulnerabilit`, false,
		`^(\.github/|docs?/)?security(\.\w+)?$`, `(?i)report|e-?mail|disclos`, `^(\.github/|docs?/)?security(\.\w+)?$`, anyLine, readmes, headingOf(`security|vulnerabilit\w+`)),
	newTopic("language version", `\bversions?\b.*\b(need|requir|support|run|work|compil|build|target|minimum)|\b(which|what|minimum|minimal|min|oldest|required|supported|latest|lowest)\b.{0,40}\b(node(\.?js)?|python|go|golang|java|jdk|jvm|rust|rustc|ruby|php|perl|swift|kotlin|scala|elixir|c\+\+|c|android)\b.{0,20}\bversions?\b|\bMSRV\b`, false,
		readmes, headingOf(`minimum\b.*\bversions?|.*supported\b.*\bversions?|requirements|prerequisites|compatibility`), manifests, `(?i)"(node|php)"\s*:\s*"|requires-python|python_requires|^\s*(rust-version|go)\s*=?\s*"?[0-9]|required_ruby_version|maven\.compiler\.(source|target|release)|java\.version|(source|target)Compatibility|jvmTarget|jvmToolchain|elixir:|sdk:|swift-tools-version|CMAKE_C(XX)?_STANDARD|TargetFramework`,
		readmes, `(?i)\b(node(\.?js)?|python|go|golang|java|jdk|rust|rustc|ruby|php|perl|swift|kotlin|scala|elixir|android)\b[\w. ]{0,12}v?\d`, makefiles, `-std=`),
	newTopic("version", `\b(what|which|current|latest)\b.{0,30}\bversion\b`, true,
		manifests, `(?i)^\s*"?version"?\s*[:=]|<version>|VERSION\s*=\s*["']|^\d+\.\d+`, `(^|/)_*version_*\.\w+$`, `(?i)version.*\d`),
	newTopic("dependencies", `\bdependenc(y|ies)\b|\bdepends? (up)?on\b|\b(third[- ]party|external)\b.*\b(packages|libraries|modules)|\b(packages|libraries|crates|gems|modules) (does|do|is|are)\b.*\b(use|need|require|depend|used|needed|required)`, true,
		manifests, `(?i)"dependencies"\s*:|^dependencies\s*=|^\[(workspace\.)?dependencies\]|poetry\.dependencies|install_requires|^require[ (]|<dependencies>|^dependencies\s*\{|"require"\s*:|add_(runtime_)?dependency|PackageReference|defp deps|AC_CHECK_LIB|PKG_CHECK|find_package|^\s*gem |==`, makefiles, `(?i)deps`),
	newTopic("tests", `\b(how|commands?|way|where)\b.*\b(run|runs|execute|launch|start)\b.*\btests?\b|\b(run|running|execute) (all |the |its |unit |integration )*tests?\b|\btest (command|runner|framework)\b|\bhow (do|can|should|to|would)\b.{0,12}\btest\b`, false,
		guides, headingOf(`(running |run )?(the )?tests?|testing|test suite`), readmes, headingOf(`(running |run )?(the )?tests?|testing|test suite`), `^package\.json$`, `^\s*"test"\s*:`,
		makefiles, `(?i)^\.?(test|check|tests)\b.*:|^\s*(pytest|"pytest")|^commands|task :?default|task :?test|testtask`, `^(cargo\.toml|go\.mod|mix\.exs)$`, `(?i)^\[?(package|module)`, guides, `(?i)\b(cargo|go|npm|make|pytest|tox|mvn|gradlew?|rake|bundle exec|composer|pnpm|yarn|dotnet|mix|swift)\b.*\b(test|check|verify)`, readmes, `(?i)\b(cargo|go|npm|make|pytest|tox|mvn|gradlew?|rake|bundle exec|composer|pnpm|yarn|dotnet|mix|swift)\b.*\b(test|check|verify)`,
		`^pyproject\.toml$`, `"?pytest|env_list`, workflows, `(?i)\b(test|check|verify|tox|pytest|rake)\b`, `^docs?/.*(contribut|develop|test)\w*\.\w+$`, `(?i)pytest|tox|run.*tests`),
	newTopic("build", `\b(how|commands?|way)\b.*\b(build|compile|built|compiled)\b|\b(build|building|compile|compiling)\b.*\bfrom (source|scratch)`, false,
		readmes, headingOf(`build\w*|compil\w+|from source|installing from source`), guides, headingOf(`build\w*|compil\w+|setup`), `^install(ing)?(\.\w+)?$`, anyLine, makefiles, `^(all|build|default)\b.*:`, `^package\.json$`, `^\s*"build"\s*:`, readmes, `(?i)^\s*\$?\s*(make|cargo build|mvn|cmake|\./configure|\./gradlew|go build)\b`),
	newTopic("install", `\binstall(ed|ing|ation)?\b|\bset (it )?up\b|\bsetup\b|\bget(ting)? started\b|\bquick ?start\b|\badd (it|this) to my\b`, false,
		readmes, headingOf(`install\w*|download|setup|getting started|quick ?start|usage`), `^install(ing|ation)?(\.\w+)?$|^docs?/(.*/)?(install(ing|ation)?|getting[-_]started|setup|quickstart)\.\w+$`, anyLine, readmes, `(?i)\b(npm (i|install)|pip install|go get|go install|cargo (add|install)|gem install|composer require|brew install|apt(-get)? install|yarn add|pnpm add)\b`),
	newTopic("changelog", `\bchange ?log\b|\brelease notes\b|\bwhat('s| is) new\b|\bwhat (has |was )?changed\b`, false,
		`^(docs?/)?(changelog|changes|history|news|releases?([-_]notes)?|00-releasenotes)(\.\w+)?$`, anyLine),
	newTopic("contributing", `\bcontribut(e|ing|ion|ions)\b|\bpull requests?\b|\bsubmit\b.*\b(patch|pr|change)|\bsend (a )?patch`, false,
		`^(\.github/|docs?/)?contributing(\.\w+)?$`, anyLine, readmes, headingOf(`contribut\w*`), guides, anyLine),
	newTopic("conduct", `\bcode of conduct\b`, false, `^(\.github/|docs?/)?code[-_]of[-_]conduct(\.\w+)?$`, anyLine),
	newTopic("CI", `\bCI\b|\bcontinuous integration\b|\bgithub actions?\b|\bci/cd\b|\bci workflows?\b`, false,
		`^\.github/workflows/.*(ci|test|build|main|check)[^/]*\.ya?ml$`, anyLine, workflows, anyLine),
	newTopic("entry point", `\bentry ?-?points?\b|\bmain (function|file|module|class|method|program|source)\b|\bwhere\b.{0,30}\b(start|begin)s?( executing| running)?\W*$|\bmain\(\)`, true,
		`^package\.json$`, `^\s*"(main|bin|module)"\s*:`, `^cargo\.toml$`, `^path\s*=.*main\.rs`, `^(.*/)?(main|__main__)\.\w+$`, `(?i)\bmain\b|__name__`, `^(index|app|server|cli)\.\w+$|^lib/index\.\w+$|^src/index\.\w+$`, anyLine, `^pyproject\.toml$`, `scripts\]`),
	newTopic("command line", `\b(CLI|command[- ]line)\b.*\b(flags?|options?|arguments?|interface|defin\w+|pars\w+|switches)\b|\b(flags|options|arguments|switches)\b.*\b(CLI|command[- ]line)\b|\b(flags|command-line options)\b.*\b(defined|declared|parsed)\b`, true,
		`(^|/)(cli|args|arguments|flags|options|opts|command_?line|getopt)\.\w+$|(^|/)(cli|flags|args|options)/(defs|index|mod|main|root|cli)\.\w+$|^cmd/(root|main|[^/]+/(main|root))\.go$`, `(?i)\bclap|argparse|add_argument|\bflag\.|option\(|click\.|#\[arg|\.command\(|OptionParser|getopt|^impl Flag|yargs|commander|cobra|^pub struct|^class|^struct|^func`),
	newTopic("test files", `\bwhere\b.{0,20}\b(tests?|specs?)\b|\b(unit|integration|end-to-end|e2e) tests?\b.{0,20}\bwhere\b`, true,
		`^(tests?|specs?|__tests__|.*/src/test)/.*\w+\.\w+$|^.*(_test\.\w+|\.(test|spec)\.\w+)$`, `(?i)\b(fn|def|func|function|it|test|describe|class|context)\b`),
	newTopic("architecture", `\barchitecture\b|\bhow\b.*\b(project|repo|repository|code ?base|code|source|sources)\b.*\b(organi[sz]ed|structured|laid out)|\b(project|code|directory|folder|repo\w*|source|module) (structure|layout|organi[sz]ation)\b|\bdesign (docs?|documents?|decisions?|goals?)\b`, true,
		`^(.*/)?(architecture|design|internals|structure)(\.\w+)?$|^[^/]*(design|architecture)[^/]*\.(md|rst|txt|adoc)$|^docs?/(.*/)?(design|architecture|internals|overview|how-it-works)[^/]*\.\w+$`, anyLine, readmes, headingOf(`architecture|structure|layout|design|internals|source code|organi[sz]ation|how it works|directory`), guides, headingOf(`architecture|structure|layout|design|internals|overview|organi[sz]ation|directory`), readmes, `^[A-Za-z*].{30,}`),
	newTopic("style", `\blint(er|ers|ing)?\b|\bcode (style|format\w*)|\bcoding (style|conventions|standards?)|\bstyle guide\b|\bformatter\b`, true,
		`^(\.eslintrc.*|eslint\.config\..*|biome\.json|\.prettierrc.*|\.?rubocop\.ya?ml|\.golangci\.ya?ml|\.?rustfmt\.toml|\.clang-format|\.flake8|ruff\.toml|\.pre-commit-config\.yaml|checkstyle\.xml|\.php-cs-fixer.*|\.editorconfig)$`, anyLine, guides, `(?i)style|lint|format`),
	newTopic("people", `\bmaintain(er|ers|s|ed)\b|\bauthors?\b|\bwho (wrote|develops|created|owns|made|is behind)\b`, true,
		`^(authors|maintainers|codeowners|owners)(\.\w+)?$|^\.github/codeowners$`, `^[^#\s].*`, readmes, headingOf(`maintain\w+|authors?|team|credits`), manifests, `(?i)authors?|maintainers?`),
	newTopic("documentation", `\bwhere\b.*\b(docs|documentation|manual|user guide)\b`, true, readmes, headingOf(`doc\w*|guide|manual`), `^docs?/(index|readme|introduction|getting-started)\.\w+$`, anyLine, readmes, `(?i)documentation|docs`),
	newTopic("overview", `^\W*(what|explain|describe|summari[sz]e|tell me|give me|overview)\b`, true, readmes, `^[A-Za-z*_>].{20,}`, manifests, `(?i)description`),
}

func newTopic(name, asked string, alone bool, sources ...string) *topic {
	t := &topic{name: name, asked: regexp.MustCompile(`(?i)` + asked), alone: alone, words: map[string]bool{}}
	for i := 0; i < len(sources); i += 2 {
		t.sources = append(t.sources, topicSource{regexp.MustCompile(`(?i)` + sources[i]), regexp.MustCompile(sources[i+1])})
	}
	return t
}

// topicOf returns what a prompt asks of the repository; nil: nothing known.
func topicOf(prompt string) *topic {
	for _, t := range topics {
		if t.asked.MatchString(prompt) {
			return t
		}
	}
	return nil
}

// licenseName matches the line of a license that says which one it is.
const licenseName = `(?i)\b(MIT License|Apache License|Apache-2\.0|BSD [\w-]*\s*License|[23]-Clause|GNU (LESSER |AFFERO )?GENERAL PUBLIC|Mozilla Public|ISC License|Unlicense|Boost Software|Eclipse Public|zlib|Creative Commons|Source Available|Server Side Public|Permission is hereby granted|Redistribution and use|dual[- ]licens\w+|Permission to use, copy)`

// names returns the files that a source of the topic may be in, those nearest
// to the top first.
func (t *topic) names(s topicSource, ev *evidence) []string {
	var out []string
	for _, n := range ev.names {
		k := kindOf(n)
		if s.files.MatchString(n) && k != sampleFile && (k != document || t.name != "command line") && (k == testFile) == (t.name == "test files") && (k != foreign || !strings.Contains(n, "/")) {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(len(a), len(b)))
	})
	return out[:min(len(out), 3)]
}
