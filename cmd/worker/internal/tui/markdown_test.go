package tui_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/cmd/worker/internal/terminal"
	"github.com/agentworker/worker/cmd/worker/internal/tui"
	"github.com/agentworker/worker/internal/termtext"
)

func on(columns int, colors bool) terminal.Output {
	return terminal.Output{Redraws: true, Colors: colors, Columns: func() int { return columns }}
}

const answer = `# The *port*

It is set in ` + "`server.go:3`" + `, see [the guide](https://example.org/a?b=1&amp;c) and
<https://example.org>. A line  
break, 2 \* 3, **bold _both_** and ~~gone~~.

1. one
2. two
   - below, with a text that is long enough to be broken
   - [x] done

> quoted
>
> twice

| file | line |
|---|---|
| ` + "`a.go`" + ` | 3 |
| b.go | **12** |

` + "```go\nfunc main() {\n\tprintln(\"a line that is longer than the terminal is wide\")\n}\n```" + `

<div>html</div>

---
end`

// TestRender: the output without colours, at 40 columns.
func TestRender(t *testing.T) {
	want := `# The *port*

It is set in ` + "`server.go:3`" + `, see the
guide (https://example.org/a?b=1&c) and
https://example.org. A line
break, 2 * 3, **bold *both*** and
~~gone~~.

1. one
2. two
   • below, with a text that is long
     enough to be broken
   • [x] done

│ quoted
│
│ twice

file    line
` + "`a.go`" + `  3
b.go    **12**

  func main() {
  	println("a line that is longer than the terminal is wide")
  }

  <div>html</div>

────────────────────────────────────────

end`
	if got := tui.RenderMarkdown(answer, on(40, false)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestColors: what is bold, and what a table and code look like.
func TestColors(t *testing.T) {
	got := tui.RenderMarkdown(answer, on(40, true))
	for _, want := range []string{
		"\x1b[1m# \x1b[0m\x1b[1mThe \x1b[0m\x1b[1;3mport\x1b[0m\n", "\x1b[36mserver.go:3\x1b[0m", "\x1b[1;3mboth\x1b[0m", "\x1b[9mgone\x1b[0m",
		"\x1b[2mfile\x1b[0m", "\x1b[36mfunc main() {\x1b[0m",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%q", want, got)
		}
	}
}

// hostile are texts that would control a terminal, or take long.
var hostile = []string{
	"\x1b[2J\x1b]8;;http://evil\x07click\x1b]8;;\x07 \u009b2J \u202eback",
	"&#27;[2J &#x1b;]0;title&#7; &#x9b;2J &#x202e;back &#8238; &NewLine;x &Tab;y",
	"[x&#27;[2J](http://a&#27;[2J 'b&#27;[2J') ![i&#27;](&#x202e;)",
	"`\x1b[2J` <a&#27;> <http://a&#27;b>",
	"```\x1b[2J\n\x1b[2J&#27;\n```",
	"| a&#27;[2J |\n|---|\n| b\u202e |",
	strings.Repeat(">", 1000) + "x\n",
	strings.Repeat("> ", 2000) + "x" + strings.Repeat("\ny", 4000),
	strings.Repeat("- ", 8<<10) + "x",
	strings.Repeat("[", 16<<10) + strings.Repeat("*a", 9<<10),
	strings.Repeat("|a", 4000) + "\n" + strings.Repeat("|-", 4000) + "\n|" + strings.Repeat("wide ", 90),
	"a\n" + strings.Repeat("\n", 40<<10) + "the end",
}

var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// inert returns the parts of a shown text that would control a terminal.
func inert(t *testing.T, in string, colors bool) string {
	t.Helper()
	out := tui.RenderMarkdown(in, on(60, colors))
	if colors {
		out = sgr.ReplaceAllString(out, "")
	}
	if out != termtext.Printable(out) {
		t.Errorf("%q is shown as %q", in, out)
	}
	return out
}

func TestHostile(t *testing.T) {
	for _, in := range hostile {
		start := time.Now()
		inert(t, in, true)
		if out := inert(t, in, false); len(out) > 64*len(in)+4096 {
			t.Errorf("%.40q… grows from %d to %d bytes", in, len(in), len(out))
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%.40q… takes %s", in, took)
		}
	}
}

var word = regexp.MustCompile(`^[a-z]+$`)

// FuzzRender: nothing controls the terminal, and no line of words is lost.
func FuzzRender(f *testing.F) {
	f.Add(answer)
	for _, in := range hostile {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 2000 {
			return
		}
		inert(t, in, true)
		out := inert(t, in, false)
		if lines := strings.Split(in, "\n"); word.MatchString(lines[0]) && !strings.Contains(out, lines[0]) && len(lines[0]) < 60 {
			t.Errorf("of %q is left %q", in, out)
		}
	})
}
