package offlinemodel

import (
	"path"
	"regexp"
	"strings"
)

// fileKind sorts files by what they tell about how a program works.
type fileKind int

const (
	source fileKind = iota
	testFile
	document
	dataFile   // configuration, styles, tables
	sampleFile // examples, fixtures, scripts beside the program
	foreign    // vendored, generated, locked, logged
	private    // files that tend to hold secrets
)

// worth is what a hit in a file of the kind counts, against one in a source.
var worth = [...]float64{source: 1, testFile: 0.35, document: 0.5, dataFile: 0.45, sampleFile: 0.25, foreign: 0.15, private: 0.02}

var (
	foreignPath = regexp.MustCompile(`(?i)(^|/)(vendor|node_modules|third[_-]?party|bower_components|dist|deps|\.venv|venv|site-packages|__pycache__|locales?|wordlists?|dictionar(y|ies)|i18n|__snapshots__|\.git)/`)
	foreignName = regexp.MustCompile(`(?i)(\.min\.(js|css)|\.lock|\.sum|-lock\.(json|yaml)|\.pb\.go|_pb2(_grpc)?\.py|\.pb\.(cc|h)|[._]generated\.\w+|\.g\.dart|\.designer\.cs|_gen\.go|zz_generated.*|\.snap|\.map|\.svg|\.log|\.po)$|^(change(log|s)|history|release[_-]?notes|news|[0-9]+-releasenotes)([.-]|$)|^(license|licence|copying|unlicense|authors)`)
	samplePath  = regexp.MustCompile(`(?i)(^|/)(testdata|_?fixtures?|__fixtures__|golden|mocks?|_?examples?|samples?|demos?|playgrounds?|bench(mark|suite)?s?|benches|corpus|scripts|tools|contrib|templates?|fuzz)/`)
	testPath    = regexp.MustCompile(`(?i)(^|/)(tests?|__tests__|__tests_dts__|specs?|e2e|features|testing|regress|[a-z]+[_-]tests?|test-[a-z-]+)/|_test\.\w+$|\.(test|spec|cy)\.\w+$|(^|/)(test_[^/]*|conftest)\.py$|_spec\.rb$|[a-z](Test|Tests|TestCase|IT|Spec)\.(java|kt|scala|cs|swift|php)$|(^|/)test_?(util|helper|support)\w*\.\w+$|testutil\.\w+$`)
	documentDir = regexp.MustCompile(`(?i)(^|/)(docs?|documentation|man\d?|website)/.*\.(html?|\d|tex)$|\.[1-9]$|(^|/)(readme|install|contributing|security|hacking|todo|bugs)$`)
	dotPath     = regexp.MustCompile(`(^|/)\.[^/.]`)
	privateName = regexp.MustCompile(`(?i)^(\.env(\..+)?|.*\.(pem|key|p12|pfx|jks|keystore)|id_(rsa|dsa|ecdsa|ed25519)|\.?credentials(\.\w+)?|\.netrc|\.npmrc|\.pypirc|secrets?\.(ya?ml|json|toml|env))$`)

	documentEnds = wordSet("md mdx markdown rst adoc txt org")
	dataEnds     = wordSet("json jsonl jsonc json5 yaml yml toml ini cfg conf properties xml csv tsv html htm css scss less sass lock plist env sql ipynb def")
)

// kindOf returns the kind of a file, by its path alone.
func kindOf(p string) fileKind {
	base := path.Base(p)
	switch ext := extension(p); {
	case privateName.MatchString(base):
		return private
	case foreignPath.MatchString(p), foreignName.MatchString(base):
		return foreign
	case testPath.MatchString(p):
		return testFile
	case samplePath.MatchString(p):
		return sampleFile
	case documentEnds[ext], documentDir.MatchString(p):
		return document
	case dataEnds[ext], dotPath.MatchString(p):
		return dataFile
	}
	return source
}

func extension(file string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(file), "."))
}
