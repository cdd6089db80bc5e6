package lsp

import (
	"bytes"
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The structs below are the part of the Language Server Protocol 3.17 that is used here:
// https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/

// position is a place in a text: both counted from 0, the character in UTF-16 code units.
type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

// location is a place in a file. A LocationLink is read as one, too.
type location struct {
	URI         string     `json:"uri"`
	Range       textRange  `json:"range"`
	TargetURI   string     `json:"targetUri"`
	TargetRange *textRange `json:"targetSelectionRange"`
}

// at returns the file and the place that a location or a link names.
func (l *location) at() (uri string, start position) {
	if l.TargetURI != "" && l.TargetRange != nil {
		return l.TargetURI, l.TargetRange.Start
	}
	return l.URI, l.Range.Start
}

// severity of a diagnostic; 0 means that the server has not said.
type severity int

const (
	severityError   severity = 1
	severityWarning severity = 2
)

func (s severity) String() string {
	switch s {
	case 0, severityError:
		return "error"
	case severityWarning:
		return "warning"
	case 3:
		return "information"
	}
	return "hint"
}

type diagnostic struct {
	Range    textRange       `json:"range"`
	Severity severity        `json:"severity"`
	Code     json.RawMessage `json:"code"` // a text or a number
	Source   string          `json:"source"`
	Message  string          `json:"message"`
}

type publishParams struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type diagnosticReport struct {
	Kind  string       `json:"kind"` // full or unchanged
	Items []diagnostic `json:"items"`
}

type textDocument struct {
	URI        string `json:"uri"`
	LanguageID string `json:"languageId,omitempty"`
	Version    int    `json:"version,omitempty"`
	Text       string `json:"text,omitempty"`
}

type documentParams struct {
	TextDocument textDocument `json:"textDocument"`
	Position     *position    `json:"position,omitempty"`
	Context      any          `json:"context,omitempty"`
}

// openParams has the text even where that is empty.
type openParams struct {
	TextDocument struct {
		URI        string `json:"uri"`
		LanguageID string `json:"languageId"`
		Version    int    `json:"version"`
		Text       string `json:"text"`
	} `json:"textDocument"`
}

type changeParams struct {
	TextDocument textDocument `json:"textDocument"`
	Changes      []wholeText  `json:"contentChanges"`
}

// wholeText is a change that gives the whole new text.
type wholeText struct {
	Text string `json:"text"`
}

type fileEvent struct {
	URI  string `json:"uri"`
	Type int    `json:"type"` // 1 created, 2 changed, 3 deleted
}

type watchedParams struct {
	Changes []fileEvent `json:"changes"`
}

// symbol is a DocumentSymbol, a SymbolInformation or a WorkspaceSymbol.
type symbol struct {
	Name      string     `json:"name"`
	Kind      int        `json:"kind"`
	Container string     `json:"containerName"`
	Selection *textRange `json:"selectionRange"`
	Location  *location  `json:"location"`
	Children  []symbol   `json:"children"`
}

// symbolKinds are the words for the kinds, from 1 on.
var symbolKinds = strings.Fields("file module namespace package class method property field constructor enum interface function " +
	"variable constant string number boolean array object key null enum-member struct event operator type-parameter")

func (s *symbol) kind() string {
	if s.Kind < 1 || s.Kind > len(symbolKinds) {
		return "symbol"
	}
	return symbolKinds[s.Kind-1]
}

type hover struct {
	Contents json.RawMessage `json:"contents"`
}

// text returns the text of a hover: MarkupContent, a MarkedString or several of them.
func (h *hover) text() string {
	var parts []json.RawMessage
	if json.Unmarshal(h.Contents, &parts) != nil {
		parts = []json.RawMessage{h.Contents}
	}
	var texts []string
	for _, part := range parts {
		var text string
		var markup struct {
			Value string `json:"value"`
		}
		if json.Unmarshal(part, &text) != nil && json.Unmarshal(part, &markup) == nil {
			text = markup.Value
		}
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// capabilities are what a server can do. A provider is a bool or an object.
type capabilities struct {
	Diagnostic      json.RawMessage `json:"diagnosticProvider"`
	Definition      json.RawMessage `json:"definitionProvider"`
	References      json.RawMessage `json:"referencesProvider"`
	Hover           json.RawMessage `json:"hoverProvider"`
	DocumentSymbol  json.RawMessage `json:"documentSymbolProvider"`
	WorkspaceSymbol json.RawMessage `json:"workspaceSymbolProvider"`
}

// can reports whether a server has a provider.
func can(provider json.RawMessage) bool {
	text := string(bytes.TrimSpace(provider))
	return text != "" && text != "false" && text != "null"
}

type initializeResult struct {
	Capabilities capabilities `json:"capabilities"`
}

// clientCapabilities say what this client understands.
var clientCapabilities = json.RawMessage(`{
"workspace":{"configuration":true,"workspaceFolders":true,"didChangeWatchedFiles":{"dynamicRegistration":true}},
"textDocument":{"synchronization":{"didSave":true},"publishDiagnostics":{"versionSupport":true},"diagnostic":{},
"definition":{"linkSupport":true},"references":{},"hover":{"contentFormat":["plaintext","markdown"]},
"documentSymbol":{"hierarchicalDocumentSymbolSupport":true}},
"general":{"positionEncodings":["utf-16"]}}`)

// fileURI returns the URI of an absolute path.
func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// pathOf returns the absolute path of a URI; empty means it names no file.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") {
		return ""
	}
	return filepath.Clean(filepath.FromSlash(u.Path))
}

// characterAt returns the position of the byte offset in a line, in UTF-16 code units.
func characterAt(line string, offset int) (units int) {
	for i := 0; i < offset && i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		units += max(utf16.RuneLen(r), 1)
		i += size
	}
	return units
}
