package secrets_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/internal/secrets"
)

// checkStream: however a text is cut, what comes out is its mask, and only so much is held back.
func checkStream(t interface{ Fatalf(string, ...any) }, pieces []string) {
	var s secrets.Stream
	var in, out strings.Builder
	for _, piece := range pieces {
		in.WriteString(piece)
		out.WriteString(s.Write(piece))
	}
	held := s.Flush()
	if out.WriteString(held); len(held) > secrets.MaxHeld {
		t.Fatalf("%d bytes are held back of %q", len(held), in.String())
	}
	if want := secrets.Mask(in.String()); out.String() != want || s.Masks() != (want != in.String()) {
		t.Fatalf("%q\nmakes %q,\nwant  %q", pieces, out.String(), want)
	}
}

// TestStream: keys among what is nearly one, cut anywhere.
func TestStream(t *testing.T) {
	names := slices.Sorted(maps.Keys(keys))
	parts := []string{
		" ", "\n", `\n`, "-", "-----", "_", ".", "/", ":", "=", `"`, "@", "~", "a", "A7", "é", "\xff", rep(mixed, 40), "aws ", "SECRET", "bearer ", "Bearer ", "https://user:", "a://b:secret@", "AccountKey=", "eyJ", "sk-", "sk-ant-",
		"-----BEGIN ", "PRIVATE KEY", "PRIVATE KEY BLOCK-----", "-----END ", rep("AKIA", 16), rep("Q~8", 30), strings.Repeat("eyJ-", 200), strings.Repeat("x", 300),
	}
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(1, 12).Draw(t, "parts") {
			if part := rapid.SampledFrom(parts).Draw(t, "part"); rapid.Bool().Draw(t, "is a key") {
				key := keys[rapid.SampledFrom(names).Draw(t, "key")]
				text.WriteString(key[:len(key)-rapid.IntRange(0, len(key)-1).Draw(t, "cut off")])
			} else {
				text.WriteString(part)
			}
		}
		var pieces []string
		for left := text.String(); left != ""; {
			n := rapid.OneOf(rapid.IntRange(1, len(left)), rapid.IntRange(1, min(3, len(left)))).Draw(t, "piece")
			pieces, left = append(pieces, left[:n]), left[n:]
		}
		checkStream(t, pieces)
	})
}

// TestStreamPlain: what has no prefix of a key passes as it comes.
func TestStreamPlain(t *testing.T) {
	var s secrets.Stream
	for _, piece := range []string{"A", " s", "k", " gh", "p", "-", "--", " \n", "eyes", " xo", "", " Bear", "er", ": a", "b\xffc", "é"} {
		if got := s.Write(piece); got != piece {
			t.Errorf("%q: %q", piece, got)
		}
	}
	if n := testing.AllocsPerRun(1000, func() { s.Write(" the next words") }); n > 0 {
		t.Errorf("a piece takes %v allocations", n)
	}
}

func FuzzStream(f *testing.F) {
	for _, key := range keys {
		f.Add("x="+key+";", []byte{3, 1, 7})
		f.Add("https://a:"+key+"@b "+key[:len(key)/2], []byte{1})
	}
	f.Fuzz(func(t *testing.T, text string, cuts []byte) {
		var pieces []string
		for i := 0; text != ""; i++ {
			n := len(text)
			if len(cuts) > 0 {
				n = min(n, 1+int(cuts[i%len(cuts)]))
			}
			pieces, text = append(pieces, text[:n]), text[n:]
		}
		checkStream(t, pieces)
	})
}

func BenchmarkStream(b *testing.B) {
	words := strings.SplitAfter(strings.Repeat("The quick brown fox reads main.go, and says: func main() { os.Exit(run()) } // see https://example.com\n", 80), " ")[:1000]
	for _, masked := range []bool{false, true} {
		b.Run(fmt.Sprintf("masked=%t", masked), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var s secrets.Stream
				n := 0
				for _, word := range words {
					if masked {
						word = s.Write(word)
					}
					n += len(word)
				}
				if n += len(s.Flush()); n == 0 {
					b.Fatal("nothing is left")
				}
			}
		})
	}
}
