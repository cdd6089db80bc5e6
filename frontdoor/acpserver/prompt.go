package acpserver

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// promptText returns a prompt for an agent: the text in its order, files as "@path", and at the
// end the contents that the client has embedded.
func (c *connection) promptText(blocks []acp.ContentBlock) (string, error) {
	var text, context strings.Builder
	for i, b := range blocks {
		switch {
		case b.Text != nil:
			text.WriteString(b.Text.Text)
		case b.ResourceLink != nil:
			text.WriteString(c.reference(b.ResourceLink.Uri, b.ResourceLink.Name))
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			at := c.reference(r.Uri, "")
			text.WriteString(at)
			fmt.Fprintf(&context, "\n\n<context of=%q>\n%s\n</context>", strings.TrimPrefix(at, "@"), strings.ReplaceAll(r.Text, "</context", "<\\/context"))
		default:
			return "", fmt.Errorf("prompt: block %d is an image, sound or binary data, which the worker's agents can't read: send text, links or embedded text", i+1)
		}
	}
	if strings.TrimSpace(text.String()) == "" {
		return "", errors.New("prompt: it has no text")
	}
	return text.String() + context.String(), nil
}

// reference names a resource: a file of the workspace by its path.
func (c *connection) reference(uri, name string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		path := filepath.FromSlash(u.Path)
		if volume := strings.TrimPrefix(u.Path, "/"); filepath.VolumeName(filepath.FromSlash(volume)) != "" { // file:///C:/…
			path = filepath.FromSlash(volume)
		}
		if rel, err := filepath.Rel(c.opts.Root, path); err == nil && filepath.IsLocal(rel) {
			path = filepath.ToSlash(rel)
		}
		return "@" + path
	}
	if name == "" {
		return uri
	}
	return fmt.Sprintf("%s (%s)", name, uri)
}
