package agentfile

import (
	"strings"
	"testing"
)

func TestOpenFence(t *testing.T) {
	for _, tt := range []struct {
		text  string
		fence string // empty means all are closed
		line  int
	}{
		{"", "", 0},
		{"```\ncode\n```", "", 0},
		{"```\ncode", "```", 0},
		{"text\n\n```go\ncode\n", "```go", 2},
		{"~~~\ncode\n~~~", "", 0},
		{"~~~ sh `x`\ncode", "~~~", 0},
		{"```\n~~~\n```", "", 0},
		{"````md\n```go\ncode\n```\n````", "", 0},
		{"````md\n```go\ncode\n```", "````", 0},
		{"```\ncode\n`````", "", 0},
		{"````\ncode\n```", "````", 0},
		{"```\ncode\n``` go", "```", 0},
		{"```\ncode\n```  \t", "", 0},
		{"``` a`b\ntext", "", 0}, // an inline code span
		{"``not a fence", "", 0},
		{"   ```\ncode\n   ```", "", 0},
		{"text\n\n    ```\n    code", "", 0}, // indented code
		{"```\n    ```\n```", "", 0},
		{"```\n    ```\n", "```", 0},
		{"- item\n  ```\n  code\n  ```", "", 0},
		{"- ```sh\n  code\n  ```\ntext", "", 0},
		{"1. step\n\n     ```sh\n     code\n     ```\n2. step", "", 0},
		{"10. step\n    ```sh\n    code\n    ```", "", 0},
		{"- a\n  - b\n    ```\n    code\n    ```\n", "", 0},
		{"- a\n  - b\n    ```\n    code\n", "```", 2},
		{"> ```\n> code\n\ntext", "", 0}, // the quote ends it
		{"a\n```\nx\n```\nb\n```\ny\n```\nc\n```\nz", "```", 9},
		{"-\n```\nx\n```", "", 0},
		{"\t```\n\tcode", "", 0},
	} {
		want := strings.TrimSuffix(tt.fence, "go")
		line, fence := OpenFence(tt.text)
		if fence != want || fence != "" && line != tt.line {
			t.Errorf("%q: fence %q in line %d, want %q in %d", tt.text, fence, line, want, tt.line)
		}
	}
}

func FuzzFences(f *testing.F) {
	f.Add("- ```\n  ~~~\n\t````md\n> ```\n1. ```\n")
	f.Fuzz(func(t *testing.T, text string) {
		line, fence := OpenFence(text)
		if fence == "" {
			return
		}
		lines := strings.Split(text, "\n")
		if line >= len(lines) || !strings.Contains(lines[line], fence) {
			t.Fatalf("%q: fence %q in line %d", text, fence, line)
		}
		if _, fence := OpenFence(text + "\n" + fence); fence != "" {
			t.Errorf("%q: closed, and yet open: %q", text, fence)
		}
	})
}
