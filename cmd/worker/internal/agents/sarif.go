package agents

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs"
)

// A sarifLog is the part of SARIF 2.1.0, the exchange format of static analysis
// (OASIS, https://docs.oasis-open.org/sarif/sarif/v2.1.0/), that findings need.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool     `json:"tool"`
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID            string       `json:"id"`
	Short         sarifText    `json:"shortDescription"`
	Help          sarifText    `json:"help"`
	Configuration sarifDefault `json:"defaultConfiguration"`
}

type sarifDefault struct {
	Level string `json:"level"`
}

type sarifText struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"` // nil means the file as a whole
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
}

var sarifLevels = map[agentdefs.Severity]string{
	agentdefs.Error: "error", agentdefs.Warning: "warning", agentdefs.Information: "note",
}

// SARIF makes a log of what was found, to be printed as JSON.
func SARIF(found []agentdefs.Diagnostic) any {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "agentworker", InformationURI: "https://github.com/agentworker/worker"}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	codes := agentdefs.Codes()
	for _, c := range codes {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID:            c.ID,
			Short:         sarifText{Text: sentence(c.Meaning)},
			Help:          sarifText{Text: sentence(c.Help), Markdown: c.Help},
			Configuration: sarifDefault{sarifLevels[c.Severity]},
		})
	}
	for _, d := range found {
		at := sarifPhysical{Artifact: sarifArtifact{fileURI(d.File)}}
		if d.Line > 0 {
			at.Region = &sarifRegion{d.Line, max(d.Column, 1)}
		}
		message := d.Message
		if d.Fix != "" {
			message += "; " + d.Fix
		}
		run.Results = append(run.Results, sarifResult{
			RuleID:    d.Code,
			RuleIndex: slices.IndexFunc(codes, func(c agentdefs.Code) bool { return c.ID == d.Code }),
			Level:     sarifLevels[d.Severity],
			Message:   sarifText{Text: message},
			Locations: []sarifLocation{{at}},
		})
	}
	return sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
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
