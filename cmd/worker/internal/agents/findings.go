package agents

import (
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/ci"
)

// levels are the words of SARIF and of GitHub for severities.
var levels = map[agentdefs.Severity]struct{ sarif, github string }{
	agentdefs.Error: {"error", "error"}, agentdefs.Warning: {"warning", "warning"}, agentdefs.Information: {"note", "notice"},
}

// object is an object of JSON.
type object = map[string]any

// SARIF returns findings as a log in the exchange format of static analysis, SARIF 2.1.0
// (OASIS, https://docs.oasis-open.org/sarif/sarif/v2.1.0/), to be printed as JSON.
func SARIF(found []agentdefs.Diagnostic) any {
	codes := agentdefs.Codes()
	rules, results := []object{}, []object{}
	for _, c := range codes {
		rules = append(rules, object{
			"id":                   c.ID,
			"shortDescription":     object{"text": sentence(c.Meaning)},
			"help":                 object{"text": sentence(c.Help), "markdown": c.Help},
			"defaultConfiguration": object{"level": levels[c.Severity].sarif},
		})
	}
	for _, d := range found {
		at := object{"artifactLocation": object{"uri": fileURI(d.File)}}
		if d.Line > 0 { // else the file in general
			at["region"] = object{"startLine": d.Line, "startColumn": max(d.Column, 1)}
		}
		results = append(results, object{
			"ruleId":    d.Code,
			"ruleIndex": slices.IndexFunc(codes, func(c agentdefs.Code) bool { return c.ID == d.Code }),
			"level":     levels[d.Severity].sarif,
			"message":   object{"text": withFix(d)},
			"locations": []object{{"physicalLocation": at}},
		})
	}
	driver := object{"name": "agentworker", "informationUri": "https://github.com/agentworker/worker", "rules": rules}
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs":    []object{{"tool": object{"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}},
	}
}

// withFix is a finding's message, with what to do about it.
func withFix(d agentdefs.Diagnostic) string {
	if d.Fix == "" {
		return d.Message
	}
	return d.Message + "; " + d.Fix
}

// sentence is a line of Markdown as plain text.
func sentence(markdown string) string {
	s := strings.ReplaceAll(markdown, "`", "")
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// fileURI is a path as a URI: relative, or with a scheme if it is absolute.
func fileURI(file string) string {
	u := url.URL{Path: file}
	if path.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}

// WriteGitHub writes workflow commands that show findings beside the lines of a
// pull request.
func WriteGitHub(w io.Writer, found []agentdefs.Diagnostic) error {
	for _, d := range found {
		at := ci.Location{File: d.File}
		if d.Line > 0 {
			at.Line, at.Column = d.Line, d.Column
		}
		if _, err := fmt.Fprintln(ci.Raw(w), ci.Annotation(levels[d.Severity].github, at, d.Code, withFix(d))); err != nil {
			return err
		}
	}
	return nil
}
