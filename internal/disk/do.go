package disk

import (
	"context"
	"fmt"
	"time"
)

// answer is how long a file system may take to show a folder. A slow network
// needs less; one without its server never answers.
const answer = 10 * time.Second

// Do returns what f returns, or an error if the file system takes longer than 10
// seconds. It is for single calls, outside of a scan. The goroutine of f stays
// behind until the file system answers, because no call can be taken back.
func Do[T any](f func() (T, error)) (T, error) {
	d := New(context.Background(), NewLimiter(answer), nil)
	value, err := Within(d, "", "", f)
	if TimedOut(err) {
		err = fmt.Errorf("%w: is its server reachable?", err)
	}
	return value, err
}
