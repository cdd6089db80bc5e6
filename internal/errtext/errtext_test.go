package errtext_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/internal/errtext"
)

// several is an error whose type can't be compared.
type several []string

func (s several) Error() string { return strings.Join(s, " and ") }

func TestOf(t *testing.T) {
	_, number := strconv.Atoi("x")
	_, large := strconv.ParseInt("99999999999999999999", 10, 64)
	_, duration := time.ParseDuration("5")
	_, file := os.Open(filepath.Join("no", "such"))
	_, dial := net.Dial("tcp", "127.0.0.1:1")
	_, get := http.Get("http://127.0.0.1:1/x")
	var into struct{ Steps int }
	strict := json.NewDecoder(strings.NewReader(`{"x":1}`))
	strict.DisallowUnknownFields()
	unknownField := strict.Decode(&into)
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"none":             {nil, ""},
		"uncomparable":     {fmt.Errorf("both: %w", several{"a", "b"}), "both: a and b"},
		"another's":        {errors.New("the key is old"), "the key is old"},
		"a deadline":       {fmt.Errorf("asking: %w", context.DeadlineExceeded), "asking: it took too long"},
		"two":              {errors.Join(context.Canceled, fmt.Errorf("reading: %w", io.ErrUnexpectedEOF)), "it was cancelled\nreading: it ended before it was complete"},
		"a number":         {fmt.Errorf("--max-depth: %w", number), `--max-depth: "x" is not a whole number`},
		"a large number":   {large, `"99999999999999999999" is too large`},
		"a duration":       {duration, "write a time with its unit, such as 90s, 5m or 1h"},
		"a file":           {fmt.Errorf("reading: %w", file), "reading: " + filepath.Join("no", "such") + ": there is no such file or folder"},
		"a dialled port":   {dial, "127.0.0.1:1: nothing listens there (connection refused)"},
		"a request":        {get, "http://127.0.0.1:1/x: 127.0.0.1:1: nothing listens there (connection refused)"},
		"no JSON":          {json.Unmarshal([]byte(`{"a" 1}`), &into), "not JSON: '1' can't stand at byte 6"},
		"JSON cut":         {json.Unmarshal([]byte(`{`), &into), "not JSON: it ends too soon"},
		"a wrong type":     {json.Unmarshal([]byte(`{"steps":"x"}`), &into), "Steps has to be a whole number, not a text"},
		"a fraction":       {json.Unmarshal([]byte(`{"steps":1.5}`), &into), "Steps has to be a whole number, not 1.5"},
		"an unknown field": {fmt.Errorf("reading: %w", unknownField), `reading: unknown field "x"`},
		"an end of input":  {io.EOF, "it ended before it was complete"},
	} {
		if got := errtext.Of(test.err); !strings.EqualFold(got, test.want) {
			t.Errorf("%s: %v: got %q, want %q", name, test.err, got, test.want)
		}
	}
}
