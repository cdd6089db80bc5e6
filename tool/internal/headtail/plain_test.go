package headtail

import "testing"

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\n":                                          "plain\ttext\n",
		"\x1b[1;31merror\x1b[0m: no\n":                           "error: no\n",
		"\x1b[38;2;1;2;3mx\x1b[K\x1b[2J\x1b[?25l\x1b[H":          "x",
		"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\": "ab",
		"\u009b31mred\u009b0m":                                   "red",
		"\x1b(Bx\x1b=\x1b>\x1b7\x1b8\x1bc":                       "x",
		"\x1bPq#0;2;0;0;0\x1b\\x":                                "x",
		"10%\r50%\r100%\ndone\n":                                 "100%\ndone\n",
		"a\r\nb\r\n":                                             "a\nb\n",
		"a\r\r\n":                                                "a\n",
		"abc\r":                                                  "abc",
		"N\bNA\bA_\bx":                                           "NAx",
		"\b\b\bx\a":                                              "x",
		"übel 日本 😀\x1b[0m":                                       "übel 日本 😀",
		"cut \x1b[38;5":                                          "cut ",
		"\x1b[31":                                                "",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
