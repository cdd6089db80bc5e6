package acpserver

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/internal/picture"
)

// readPrompt returns a prompt for an agent: the text in its order, files as "@path", and at the
// end the contents that the client has embedded. Pictures are attached to it.
func (c *connection) readPrompt(blocks []acp.ContentBlock) (prompt string, attached []picture.Attachment, err error) {
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
		case b.Image != nil:
			if len(attached) == picture.MaxCall {
				return "", nil, fmt.Errorf("prompt: it has more than %d pictures", picture.MaxCall)
			}
			a, err := picture.DecodeAttachment(pictureName(b.Image, len(attached)), b.Image.Data)
			if err != nil {
				return "", nil, fmt.Errorf("prompt: block %d: %w", i+1, err)
			}
			attached = append(attached, a)
		default:
			return "", nil, fmt.Errorf("prompt: block %d is sound or binary data, which the worker's agents can't read: send text, pictures, links or embedded text", i+1)
		}
	}
	if strings.TrimSpace(text.String()) == "" {
		if len(attached) == 0 {
			return "", nil, errors.New("prompt: it has no text")
		}
		text.WriteString("(a picture)")
	}
	return text.String() + context.String(), attached, nil
}

// pictureName names a picture of a prompt, of which before come before it.
func pictureName(b *acp.ContentBlockImage, before int) string {
	if b.Uri != nil {
		if u, err := url.Parse(*b.Uri); err == nil && u.Path != "" {
			return path.Base(u.Path)
		}
	}
	return fmt.Sprintf("image %d", before+1)
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
