package picture

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"
)

// Attachment is a picture that belongs to a prompt: a file by its path, or one that was read. Its
// JSON is a text, the path or a data URL (RFC 2397). The JSON of one that was read has its hash
// in place of its content, so that events stay small.
type Attachment struct {
	Path    string   // in the workspace; empty means Picture counts
	Picture *Picture // nil means Path counts
}

// dataURL begins an attachment that has its content with it.
const dataURL = "data:"

// ParseAttachment reads the text of an attachment. For a data URL it reads the picture: a parameter
// "name" names it.
func ParseAttachment(text string) (a Attachment, err error) {
	if len(text) < len(dataURL) || !strings.EqualFold(text[:len(dataURL)], dataURL) {
		if strings.TrimSpace(text) == "" || len(text) > 4096 || strings.ContainsAny(text, "\x00\n") {
			return a, fmt.Errorf("%.60q is neither the path of a picture nor a data: URL", text)
		}
		return Attachment{Path: text}, nil
	}
	head, content, found := strings.Cut(text[len(dataURL):], ",")
	if !found || len(head) > 1000 {
		return a, errors.New("a data: URL lacks its content: write data:image/png;base64,…")
	}
	kind, isBase64 := strings.CutSuffix(head, ";base64")
	_, params, err := mime.ParseMediaType(kind)
	if err != nil && kind != "" {
		return a, fmt.Errorf("the data: URL %.60q: %w", dataURL+head, err)
	}
	name, err := url.PathUnescape(params["name"])
	if err != nil {
		return a, fmt.Errorf("the name of a data: URL: %w", err)
	}
	switch {
	case content == "" && params["sha256"] != "":
		return a, fmt.Errorf("the picture %.60s is not there any more: make the call anew, with its content", name)
	case !isBase64:
		return a, errors.New("a data: URL of a picture has its content in base64: write data:image/png;base64,…")
	}
	return DecodeAttachment(name, content)
}

// DecodeAttachment reads a picture that comes in base64.
func DecodeAttachment(name, content string) (a Attachment, err error) {
	if most := base64.StdEncoding.EncodedLen(MaxBytes); len(content) > most {
		return a, fmt.Errorf("the picture has about %s, and at most %s are read: make it smaller", megabytes(len(content)/4*3), megabytes(MaxBytes))
	}
	encoding := base64.StdEncoding
	if len(content)%4 != 0 {
		encoding = base64.RawStdEncoding
	}
	data, err := encoding.DecodeString(content)
	if err != nil {
		return a, fmt.Errorf("the picture is no base64: %w", err)
	}
	p, err := Read(name, data)
	if err != nil {
		return a, err
	}
	return Attachment{Picture: &p}, nil
}

// String is the path of the attachment, or its data URL with the hash instead of the content.
func (a Attachment) String() string {
	if a.Picture == nil {
		return a.Path
	}
	return fmt.Sprintf("%s%s;name=%s;sha256=%x,", dataURL, a.Picture.MediaType, url.PathEscape(a.Picture.Name), sha256.Sum256(a.Picture.Data))
}

// MarshalJSON implements [json.Marshaler].
func (a Attachment) MarshalJSON() ([]byte, error) { return json.Marshal(a.String()) }

// UnmarshalJSON implements [json.Unmarshaler].
func (a *Attachment) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("an attachment is a text, the path of a picture or a data: URL: %w", err)
	}
	read, err := ParseAttachment(text)
	if err != nil {
		return fmt.Errorf("attachments: %w", err)
	}
	*a = read
	return nil
}
