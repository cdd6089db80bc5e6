package settings

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// ContextWindow is the setting of that name: the window of models whose window is not known, and,
// once it is set, the most of all others.
type ContextWindow struct {
	tokens int
	set    bool
}

func (w *ContextWindow) register(flags *pflag.FlagSet) {
	w.tokens = 128_000
	tokens := parsed(&w.tokens, "int", func(text string) (int, error) {
		w.set = true
		return strconv.Atoi(text)
	})
	flags.Var(tokens, "context-window", "tokens of the context window of models for which neither --prices nor the built-in table has one, and the most of others once it is set, 0 or 1,000 to 100,000,000; near its end a conversation is compacted; 0: it is not")
}

func (w *ContextWindow) check() error {
	if w.tokens != 0 && (w.tokens < 1_000 || w.tokens > 100_000_000) {
		return fmt.Errorf("context-window %d is neither 0 nor within 1000 and 100000000", w.tokens)
	}
	return nil
}

// Of returns the tokens of a model's window for which the tables have known; 0 means that its
// conversations are not compacted.
func (w *ContextWindow) Of(known int64) int64 {
	switch {
	case known == 0:
		return int64(w.tokens)
	case w.set && w.tokens > 0:
		return min(known, int64(w.tokens))
	}
	return known
}
