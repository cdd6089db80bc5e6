package page

import (
	"bytes"
	"crypto/sha256"
	"html"
	"sync"
	"unicode/utf8"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	goldhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"

	"github.com/agentworker/worker/internal/termtext"
)

const (
	// maxMarkdown bounds the text that is read as Markdown, in bytes. What the converter
	// takes for hostile texts grows faster than they do.
	maxMarkdown = 16 << 10

	// maxPlain bounds the rest of the text, which is shown as plain text.
	maxPlain = 256 << 10

	// maxHTML bounds the HTML that is kept, in bytes.
	maxHTML = 8 << 20
)

// markdown makes HTML of Markdown whose author is not trusted. Raw HTML is left out,
// images are shown as their text, and characters that control a terminal or turn text
// around are removed. The end of a long text is shown as plain text.
func markdown(text string) string {
	text = termtext.Printable(text)
	rest := ""
	if len(text) > maxMarkdown {
		at := maxMarkdown
		for !utf8.RuneStart(text[at]) {
			at--
		}
		text, rest = text[:at], termtext.CutBytes(text[at:], maxPlain)
	}
	var b bytes.Buffer
	if err := converter().Convert([]byte(text), &b); err != nil {
		return "" // writing to memory does not fail
	}
	made := allowed().Sanitize(b.String())
	if rest != "" {
		made += "<pre>" + html.EscapeString(rest) + "</pre>"
	}
	return made
}

// htmlCache has the HTML of texts that were shown: a transcript is asked for again and again
// while its session runs.
type htmlCache struct {
	cache[[sha256.Size]byte, string]
}

func newHTMLCache() *htmlCache {
	return &htmlCache{cache[[sha256.Size]byte, string]{max: maxHTML}}
}

// markdown is [markdown] for a text that may be asked for again.
func (c *htmlCache) markdown(text string) string {
	key := sha256.Sum256([]byte(text))
	made, ok := c.get(key)
	if !ok {
		made = markdown(text)
		c.put(key, made, len(made)+len(key))
	}
	return made
}

var converter = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify),
		goldmark.WithRendererOptions(goldhtml.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(withoutImages{}, 1))),
	)
})

// withoutImages renders an image as its text: nothing is loaded for an answer.
type withoutImages struct{}

func (withoutImages) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindImage, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		text := "]"
		if entering {
			text = "[image: "
		}
		_, err := w.WriteString(text)
		return ast.WalkContinue, err
	})
}

// allowed is the second wall: what the converter makes, and no more.
var allowed = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "strong", "em", "del",
		"code", "pre", "blockquote", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	return p
})
