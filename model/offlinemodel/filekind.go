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
	dataFile   // configuration, styles, tables, what is hidden
	sampleFile // examples, fixtures, scripts beside the program
	foreign    // vendored, generated, locked, logged
	private    // files that tend to hold secrets
)

// worth is what a hit in a file of the kind counts, against one in a source.
func (k fileKind) worth() float64 {
	switch k {
	case testFile:
		return 0.3
	case document:
		return 0.45
	case dataFile:
		return 0.6
	case sampleFile:
		return 0.15
	case foreign:
		return 0.12
	case private:
		return 0.02
	}
	return 1
}

var (
	foreignPath  = regexp.MustCompile(`(?i)(^|/)(vendor|node_modules|third[_-]?party|bower_components|dist|\.venv|venv|site-packages|__pycache__|locales?|wordlists?|dictionar(y|ies)|i18n|__snapshots__|\.git)/`)
	foreignName  = regexp.MustCompile(`(?i)(\.min\.(js|css)|\.lock|\.sum|-lock\.(json|yaml)|\.pb\.go|_pb2(_grpc)?\.py|\.pb\.(cc|h)|[._]generated\.\w+|\.g\.dart|\.designer\.cs|_gen\.go|zz_generated.*|\.snap|\.map|\.svg|\.log|\.po)$|^(change(log|s)|history|release[_-]?notes|news)([.-]|$)|^(license|licence|copying|authors)`)
	sampleDir    = regexp.MustCompile(`(?i)(^|/)(testdata|fixtures?|__fixtures__|golden|mocks?|examples?|samples?|demos?|benchmarks?|corpus)/`)
	testPath     = regexp.MustCompile(`(?i)(^|/)(tests?|__tests__|specs?|e2e|integration[_-]tests?|[a-z]+[_-]tests?)/|_test\.\w+$|\.(test|spec|cy)\.\w+$|(^|/)(test_[^/]*|conftest)\.py$|_spec\.rb$|[a-z](Test|Tests|IT|Spec)\.(java|kt|scala|cs|swift|php)$`)
	documentPath = regexp.MustCompile(`(?i)(^|/)(docs?|documentation|man\d?|website)/.*\.(html?|\d|tex)$|\.[1-9]$`)
	dotFolder    = regexp.MustCompile(`(^|/)\.[^/.]`)
	privateName  = regexp.MustCompile(`(?i)^(\.env(\..+)?|.*\.(pem|key|p12|pfx|jks|keystore)|id_(rsa|dsa|ecdsa|ed25519)|\.?credentials(\.\w+)?|\.netrc|\.npmrc|\.pypirc|secrets?\.(ya?ml|json|toml|env))$`)
)

var documentEnds = wordSet("md mdx markdown rst adoc txt org")

// dataEnds are the ends of files that hold values rather than steps.
var dataEnds = wordSet("json jsonl jsonc json5 yaml yml toml ini cfg conf properties xml csv tsv html htm css scss less sass lock plist env sql ipynb")

// kindOf returns the kind of a file, by its path alone.
func kindOf(p string) fileKind {
	base := path.Base(p)
	switch ext := extension(p); {
	case privateName.MatchString(base):
		return private
	case foreignPath.MatchString(p), foreignName.MatchString(base):
		return foreign
	case sampleDir.MatchString(p):
		return sampleFile
	case testPath.MatchString(p):
		return testFile
	case documentEnds[ext], documentPath.MatchString(p), strings.EqualFold(base, "readme"):
		return document
	case dataEnds[ext], dotFolder.MatchString(p):
		return dataFile
	}
	return source
}
