package lsp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is the fake language server where FAKE_LSP says how it is.
func TestMain(m *testing.M) {
	if how := os.Getenv("FAKE_LSP"); how != "" {
		(&fake{how: how, r: bufio.NewReader(os.Stdin)}).serve()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// fake is a language server for files in which a line with ERR is an error, one with WARN a warning,
// and one with HINT a hint. It speaks the protocol without the package under test.
type fake struct {
	how   string
	r     *bufio.Reader
	texts map[string]string
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		TextDocument struct {
			URI     string `json:"uri"`
			Version int    `json:"version"`
			Text    string `json:"text"`
		} `json:"textDocument"`
		ContentChanges []struct {
			Text string `json:"text"`
		} `json:"contentChanges"`
		Query    string `json:"query"`
		Position struct {
			Line, Character int
		} `json:"position"`
	} `json:"params"`
}

func (f *fake) send(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Printf("Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n%s", len(text), text)
}

type object = map[string]any

func (f *fake) answer(id json.RawMessage, result any) {
	f.send(object{"jsonrpc": "2.0", "id": id, "result": result})
}

func (f *fake) notify(method string, params any) {
	f.send(object{"jsonrpc": "2.0", "method": method, "params": params})
}

func (f *fake) receive() (m message, ok bool) {
	size := 0
	for {
		line, err := f.r.ReadString('\n')
		if err != nil {
			return m, false
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		fmt.Sscanf(line, "Content-Length: %d", &size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(f.r, body); err != nil {
		return m, false
	}
	if err := json.Unmarshal(body, &m); err != nil {
		panic(fmt.Sprintf("%v in %s", err, body))
	}
	return m, true
}

func place(line, character int) object {
	at := object{"line": line, "character": character}
	return object{"start": at, "end": at}
}

func (f *fake) diagnostics(uri string) []object {
	found := []object{}
	for i, line := range strings.Split(f.texts[uri], "\n") {
		for severity, word := range []string{1: "ERR", 2: "WARN", 4: "HINT"} {
			if at := strings.Index(line, word); word != "" && at >= 0 {
				found = append(found, object{"range": place(i, at), "severity": severity, "code": "F1", "source": "fake", "message": strings.TrimSpace(line) + "\nsecond line"})
			}
		}
	}
	return found
}

// serve answers until its stdin ends.
func (f *fake) serve() {
	f.texts = map[string]string{}
	switch f.how {
	case "exit":
		fmt.Fprintln(os.Stderr, "error: there is no project here")
		os.Exit(3)
	case "garbage":
		fmt.Println("Hello, I am no language server.")
	case "huge":
		fmt.Print("Content-Length: 99999999999\r\n\r\n{")
	case "flood":
		for text := strings.Repeat("x", 12<<20); ; {
			f.notify("window/logMessage", text)
		}
	case "fork":
		for range 3 {
			child := exec.Command("/bin/sh", "-c", "trap '' TERM HUP; sleep 10000")
			child.Stdout = os.Stdout
			_ = child.Start()
		}
	case "deaf":
		_ = syscall.Pause()
	}
	for {
		m, ok := f.receive()
		if !ok {
			return
		}
		f.handle(&m)
	}
}

func (f *fake) handle(m *message) {
	uri := m.Params.TextDocument.URI
	switch m.Method {
	case "initialize":
		if f.how == "silent" {
			return
		}
		can := object{"textDocumentSync": 1, "definitionProvider": true, "referencesProvider": object{}, "hoverProvider": true, "documentSymbolProvider": true, "workspaceSymbolProvider": true}
		if f.how == "pull" {
			can["diagnosticProvider"] = object{"interFileDependencies": true}
		}
		f.send(object{"jsonrpc": "2.0", "id": "q1", "method": "workspace/configuration", "params": object{"items": []object{{"section": "fake"}}}})
		f.answer(m.ID, object{"capabilities": can})
	case "textDocument/didOpen":
		f.texts[uri] = m.Params.TextDocument.Text
		f.publish(uri, m.Params.TextDocument.Version)
	case "textDocument/didChange":
		f.texts[uri] = m.Params.ContentChanges[0].Text
		f.publish(uri, m.Params.TextDocument.Version)
	case "textDocument/diagnostic":
		f.answer(m.ID, object{"kind": "full", "items": f.diagnostics(uri)})
	case "textDocument/definition":
		f.answer(m.ID, []object{{"uri": uri, "range": place(0, 0)}, {"uri": "file:///etc/passwd", "range": place(1, 1)}, {"targetUri": dir(uri) + "secret.fk", "targetSelectionRange": place(2, 2)}})
	case "textDocument/references":
		f.answer(m.ID, []object{{"uri": uri, "range": place(m.Params.Position.Line, m.Params.Position.Character)}})
	case "textDocument/hover":
		f.answer(m.ID, object{"contents": object{"kind": "plaintext", "value": "func x()\x1b[31m"}})
	case "textDocument/documentSymbol":
		f.answer(m.ID, []object{{"name": "T", "kind": 5, "range": place(0, 0), "selectionRange": place(0, 0), "children": []object{{"name": "m", "kind": 6, "range": place(1, 0), "selectionRange": place(1, 0)}}}})
	case "workspace/symbol":
		f.answer(m.ID, nil)
	default:
		if m.ID != nil && m.Method != "" {
			f.send(object{"jsonrpc": "2.0", "id": m.ID, "error": object{"code": -32601, "message": "no"}})
		}
	}
}

func dir(uri string) string { return uri[:strings.LastIndex(uri, "/")+1] }

// publish publishes what is wrong with a file, and with another one if it says BREAKS.
func (f *fake) publish(uri string, version int) {
	if f.how == "mute" {
		return
	}
	if f.how != "pull" {
		params := object{"uri": uri, "diagnostics": f.diagnostics(uri)}
		if f.how != "unversioned" {
			params["version"] = version
		}
		f.notify("textDocument/publishDiagnostics", params)
	}
	f.texts["other"] = ""
	if strings.Contains(f.texts[uri], "BREAKS") {
		f.texts["other"] = "\nERR of another file"
	}
	for _, name := range []string{"other.fk", "secret.fk"} {
		f.notify("textDocument/publishDiagnostics", object{"uri": dir(uri) + name, "diagnostics": f.diagnostics("other")})
	}
}
