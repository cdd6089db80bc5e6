package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/agentworker/worker/internal/termtext"
)

// page is what a URL had, as text.
type page struct {
	url   *url.URL // where it was found, after redirects
	kind  string   // its media type
	size  int      // bytes as they came
	cut   bool     // there was more
	title string
	text  string
}

// read makes the page of a body. The error for anything but text says what it is.
func read(at *url.URL, contentType string, body []byte, format string) (*page, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || kind == "" {
		kind = "application/octet-stream"
		if looksLikeText(body) {
			kind = "text/plain"
		}
		if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '<' && looksLikeText(body) {
			kind = "text/html"
		}
	}
	p := &page{url: at, kind: kind, size: len(body)}
	isHTML := kind == "text/html" || kind == "application/xhtml+xml"
	switch {
	case isHTML, strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "json"), strings.HasSuffix(kind, "xml"), strings.HasSuffix(kind, "javascript"), strings.HasSuffix(kind, "yaml"), strings.HasSuffix(kind, "toml"):
	case kind == "application/octet-stream" && looksLikeText(body):
	default:
		return nil, fmt.Errorf("%s is %s, %d bytes, and no text", at, termtext.OneLine(kind, termtext.MaxName), len(body))
	}
	decoded, err := charset.NewReader(bytes.NewReader(body), contentType)
	if err == nil {
		var text []byte
		if text, err = io.ReadAll(decoded); err == nil {
			body = text
		}
	}
	body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	switch {
	case isHTML && format != "html":
		p.title, p.text = fromHTML(at, body, format)
	case strings.HasSuffix(kind, "json"):
		p.text = indented(body)
	default:
		p.text = string(body)
	}
	p.title = termtext.OneLine(p.title, termtext.MaxLabel)
	return p, nil
}

// looksLikeText reports whether a body without a type is text.
func looksLikeText(body []byte) bool {
	start := body[:min(len(body), 4096)]
	return bytes.IndexByte(start, 0) < 0 && (utf8.Valid(start) || len(body) > 4096)
}

// indented returns JSON on several lines if it is on one.
func indented(body []byte) string {
	if bytes.IndexByte(bytes.TrimSpace(body), '\n') < 0 {
		var out bytes.Buffer
		if json.Indent(&out, body, "", "  ") == nil {
			return out.String()
		}
	}
	return string(body)
}

// fromHTML returns the title of a page, and its article as Markdown or text. A page in which no
// article is found is converted as a whole. One that can't be parsed, or nests too deep,
// has only its texts.
func fromHTML(at *url.URL, body []byte, format string) (title, text string) {
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil || tooDeep(doc) {
		return "", texts(body)
	}
	whole, _ := html.Parse(bytes.NewReader(body)) // readability changes what it reads
	article, err := readability.FromDocument(doc, at)
	if err == nil {
		title = article.Title()
	}
	node := whole
	if err == nil && article.Node != nil {
		var read bytes.Buffer
		if article.RenderText(&read) == nil && read.Len() > 200 {
			node = article.Node
			if format == "text" {
				return title, strings.TrimSpace(read.String())
			}
		}
	}
	if format == "text" {
		return title, texts(body)
	}
	convert := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	markdown, err := convert.ConvertNode(node, converter.WithDomain(at.String()))
	if err != nil {
		return title, texts(body)
	}
	return title, strings.TrimSpace(string(markdown))
}

// maxDepth is how deep a page may nest that is converted: the conversion is recursive.
const maxDepth = 600

// tooDeep reports whether a tree nests deeper than maxDepth.
func tooDeep(root *html.Node) bool {
	depth := 0
	for n := root; n != nil; {
		switch {
		case n.FirstChild != nil:
			n = n.FirstChild
			depth++
		default:
			for n != nil && n.NextSibling == nil {
				n = n.Parent
				depth--
			}
			if n != nil {
				n = n.NextSibling
			}
		}
		if depth > maxDepth {
			return true
		}
	}
	return false
}

// texts returns the texts of a page without its markup, scripts and styles.
func texts(body []byte) string {
	var b strings.Builder
	tokens := html.NewTokenizer(bytes.NewReader(body))
	tokens.SetMaxBuf(maxBody)
	hidden := ""
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.StartTagToken:
			name, _ := tokens.TagName()
			if hidden == "" && (string(name) == "script" || string(name) == "style" || string(name) == "template") {
				hidden = string(name)
			}
		case html.EndTagToken:
			if name, _ := tokens.TagName(); string(name) == hidden {
				hidden = ""
			}
		case html.TextToken:
			if text := strings.TrimSpace(string(tokens.Text())); hidden == "" && text != "" {
				b.WriteString(text + "\n")
			}
		}
	}
}
