package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/internal/mcpconfig"
	"github.com/agentworker/worker/internal/picture"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// serverTool is a tool of a server.
type serverTool struct {
	servers *Servers
	status  Status
	listed  listed
	name    string
	ws      *tool.Workspace
}

var _ tool.Sandboxed = (*serverTool)(nil)

// Spec implements [tool.Tool].
func (t *serverTool) Spec() tool.Spec {
	text := t.listed.Description
	if text == "" {
		text = t.listed.Name
	}
	return tool.Spec{
		Name: t.name, Description: text + "\n(A tool of the MCP server " + termtext.OneLine(t.status.Name, termtext.MaxServer) + ".)",
		InputSchema: t.listed.Schema, OwnTimeLimit: true, Server: t.status.Name,
	}
}

// Values implements [tool.Tool]: see [Values]. Of a server on another machine a rule can also
// deny the host.
func (t *serverTool) Values(args json.RawMessage) ([]permission.Value, error) {
	values, err := Values(t.name, args)
	if err != nil {
		return nil, err
	}
	if t.status.Transport != mcpconfig.Stdio {
		host, err := t.status.Host()
		if err != nil {
			return nil, err
		}
		values = append(values, permission.Value{Tool: tool.NetworkTool, Text: host, Kind: permission.Reached})
	}
	return values, nil
}

// Values returns what rules see of a call: the arguments as one JSON text, and each text in
// them. The texts can only refuse the call.
func Values(name string, args json.RawMessage) ([]permission.Value, error) {
	text, texts, err := canonical(args)
	if err != nil {
		return nil, err
	}
	values := []permission.Value{{Tool: name, Text: text}}
	for _, s := range texts {
		values = append(values, permission.Value{Tool: name, Text: s, Kind: permission.Mentioned})
	}
	return values, nil
}

// maxArguments bounds the texts in the arguments of a call.
const maxArguments = 10_000

// canonical returns arguments in one spelling of JSON, with sorted keys and no escapes that
// JSON does not need, and the texts in them.
func canonical(args json.RawMessage) (text string, texts []string, err error) {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var value any
	if len(bytes.TrimSpace(args)) == 0 {
		value = map[string]any{}
	} else if err := dec.Decode(&value); err != nil {
		return "", nil, fmt.Errorf("arguments: %w", err)
	} else if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return "", nil, errors.New("arguments: more than one JSON value")
	}
	if _, ok := value.(map[string]any); !ok {
		return "", nil, errors.New("arguments: want an object")
	}
	if err := collect(value, &texts); err != nil {
		return "", nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return "", nil, fmt.Errorf("arguments: %w", err)
	}
	return strings.TrimSuffix(out.String(), "\n"), texts, nil
}

// collect appends the texts in a value.
func collect(value any, texts *[]string) error {
	if len(*texts) > maxArguments {
		return fmt.Errorf("arguments: more than %d texts", maxArguments)
	}
	switch v := value.(type) {
	case string:
		if v != "" {
			*texts = append(*texts, v)
		}
	case []any:
		for _, item := range v {
			if err := collect(item, texts); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, item := range v {
			if err := collect(item, texts); err != nil {
				return err
			}
		}
	}
	return nil
}

// Describe implements [tool.Tool].
func (t *serverTool) Describe(call *tool.Call) tool.Description {
	title := fmt.Sprintf("call %s of the MCP server %s", termtext.OneLine(t.listed.Name, termtext.MaxTitle), termtext.OneLine(t.status.Name, termtext.MaxServer))
	if t.listed.Hints != "" {
		title += " (which says of it: " + t.listed.Hints + ")"
	}
	return tool.DescribeArguments(title, call.Args)
}

// Held implements [tool.Sandboxed]. A server on another machine runs no program here.
func (t *serverTool) Held(sessionID string, rules *permission.Layers) (held bool, why string) {
	if t.status.Transport != mcpconfig.Stdio {
		return true, ""
	}
	c, err := t.servers.connection(sessionID, &t.status, t.ws)
	if err != nil {
		return false, err.Error()
	}
	return c.held(rules)
}

// EndSession implements [tool.Sandboxed].
func (t *serverTool) EndSession(sessionID string) error { return t.servers.End(sessionID) }

// Run implements [tool.Tool].
func (t *serverTool) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	if call.Rules == nil {
		return tool.Result{}, errors.New("there are no rules to run it by")
	}
	c, err := t.servers.connection(call.SessionID, &t.status, t.ws)
	if err != nil {
		return tool.Result{}, err
	}
	result, notes, err := c.call(ctx, call, t.listed.Name)
	if err != nil {
		return tool.Result{}, err
	}
	made := t.servers.pages.bound(call.SessionID, textOf(result))
	if notes != "" {
		made.Text += "\n" + notes
	}
	return made, nil
}

// textOf returns a result as models read it, whole.
func textOf(r *mcp.CallToolResult) tool.Result {
	var parts []string
	hasText := false
	var pictures []picture.Picture
	for _, content := range r.Content {
		if image, ok := content.(*mcp.ImageContent); ok {
			text, shown := pictureOf(image, len(pictures))
			parts, pictures = append(parts, text), append(pictures, shown...)
			continue
		}
		text, ok := contentText(content)
		hasText = hasText || ok
		parts = append(parts, text)
	}
	if r.StructuredContent != nil && !hasText {
		if raw, err := json.Marshal(r.StructuredContent); err == nil {
			parts = append(parts, string(raw))
		}
	}
	text := termtext.EscapeTags(strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD"))
	made := tool.Result{Text: text, IsError: r.IsError, Pictures: pictures}
	if strings.TrimSpace(made.Text) == "" {
		made.Text = "(the tool returned nothing)"
	}
	return made
}

// pictureOf returns an image of a result and a line about it. before counts the images that the
// result has had so far.
func pictureOf(image *mcp.ImageContent, before int) (text string, shown []picture.Picture) {
	if before == picture.MaxCall {
		return fmt.Sprintf("(an image of %d bytes, which is left out: a result has %d at most)", len(image.Data), picture.MaxCall), nil
	}
	p, err := picture.Read(fmt.Sprintf("image %d", before+1), image.Data)
	if err != nil {
		return "(" + termtext.OneLine(err.Error(), termtext.MaxCause) + ")", nil
	}
	return "(" + p.String() + ")", []picture.Picture{p}
}

// contentText returns a part of a result as text, and whether it was text.
func contentText(content mcp.Content) (text string, ok bool) {
	switch c := content.(type) {
	case *mcp.TextContent:
		return c.Text, true
	case *mcp.AudioContent:
		return fmt.Sprintf("(audio, %s, %d bytes, which is not given to models here)", termtext.OneLine(c.MIMEType, termtext.MaxName), len(c.Data)), false
	case *mcp.ResourceLink:
		return strings.TrimSpace(fmt.Sprintf("(a resource: %s %s)", termtext.OneLine(c.URI, termtext.MaxLine), termtext.OneLine(c.Description, termtext.MaxLabel))), false
	case *mcp.EmbeddedResource:
		switch {
		case c.Resource == nil:
			return "", false
		case c.Resource.Text != "":
			return "(" + termtext.OneLine(c.Resource.URI, termtext.MaxLine) + ")\n" + c.Resource.Text, true
		}
		return fmt.Sprintf("(the resource %s, %s, %d bytes, which are not text)", termtext.OneLine(c.Resource.URI, termtext.MaxLine), termtext.OneLine(c.Resource.MIMEType, termtext.MaxName), len(c.Resource.Blob)), false
	}
	return "(a part of a kind that is not known)", false
}
