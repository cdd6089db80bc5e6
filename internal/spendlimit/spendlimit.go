// Package spendlimit is how people and programs write what a run may use at most: a
// text such as
//
//	tokens=200k,cost=1.50,modelCalls=40,toolCalls=100,time=10m,then=ask
//
// or a JSON object with the same names. All of them may be absent.
package spendlimit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/suggest"
)

// Limits are what a run and all below it may use. A value of 0 is no limit.
type Limits struct {
	Tokens     int64 // of input and output
	Cost       int64 // in billionths of a US dollar
	ModelCalls int64
	ToolCalls  int64
	Time       time.Duration // since the run began, waits included
	Ask        bool          // somebody is asked whether it may go on; false: it stops
}

// Most is the largest count of a limit.
const Most = 1_000_000_000_000

// maxTime is the longest time.
const maxTime = 30 * 24 * time.Hour

// None reports whether nothing is limited.
func (l Limits) None() bool {
	l.Ask = false
	return l == Limits{}
}

// keys are the names, in their order, and how a value is read and written.
var keys = []struct {
	name string
	set  func(l *Limits, text string) error
	show func(l *Limits) string
}{
	{"tokens", count(func(l *Limits) *int64 { return &l.Tokens }), number(func(l *Limits) int64 { return l.Tokens })},
	{"cost", setCost, func(l *Limits) string {
		if l.Cost == 0 {
			return ""
		}
		return strconv.FormatFloat(float64(l.Cost)/1e9, 'f', -1, 64)
	}},
	{"modelCalls", count(func(l *Limits) *int64 { return &l.ModelCalls }), number(func(l *Limits) int64 { return l.ModelCalls })},
	{"toolCalls", count(func(l *Limits) *int64 { return &l.ToolCalls }), number(func(l *Limits) int64 { return l.ToolCalls })},
	{"time", setTime, func(l *Limits) string {
		if l.Time == 0 {
			return ""
		}
		return errtext.Duration(l.Time)
	}},
	{"then", setThen, func(l *Limits) string {
		if !l.Ask {
			return ""
		}
		return "ask"
	}},
}

func names() []string {
	var all []string
	for _, k := range keys {
		all = append(all, k.name)
	}
	return all
}

func (l *Limits) set(name, text string) error {
	for _, k := range keys {
		if k.name != name {
			continue
		}
		if err := k.set(l, strings.TrimSpace(text)); err != nil {
			return fmt.Errorf("%s: %.40q %w", name, text, err)
		}
		return nil
	}
	return fmt.Errorf("unknown name %.40q%s; the names are %s", name, suggest.DidYouMean(name, names()), strings.Join(names(), ", "))
}

func count(of func(*Limits) *int64) func(*Limits, string) error {
	return func(l *Limits, text string) error {
		digits, times := text, int64(1)
		switch {
		case strings.HasSuffix(text, "k"):
			digits, times = text[:len(text)-1], 1_000
		case strings.HasSuffix(text, "M"):
			digits, times = text[:len(text)-1], 1_000_000
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 1 || n > Most/times {
			return errors.New("is not a whole number from 1 to 10^12 (200000, 200k, 2M)")
		}
		*of(l) = n * times
		return nil
	}
}

func number(of func(*Limits) int64) func(*Limits) string {
	return func(l *Limits) string {
		if n := of(l); n > 0 {
			return strconv.FormatInt(n, 10)
		}
		return ""
	}
}

func setCost(l *Limits, text string) error {
	dollars, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
	nano := math.Round(dollars * 1e9)
	if err != nil || !(nano >= 1 && nano <= 1e15) {
		return errors.New("is not an amount of US dollars up to 1,000,000 (1.50)")
	}
	l.Cost = int64(nano)
	return nil
}

func setTime(l *Limits, text string) error {
	d, err := time.ParseDuration(text)
	if seconds, numErr := strconv.ParseFloat(text, 64); numErr == nil && math.Abs(seconds) <= maxTime.Seconds() {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < time.Second || d > maxTime {
		return errors.New("is not a time from 1s to 720h (10m, or a number of seconds)")
	}
	l.Time = d
	return nil
}

func setThen(l *Limits, text string) error {
	switch text {
	case "ask", "stop":
		l.Ask = text == "ask"
		return nil
	}
	return errors.New(`is neither "ask" nor "stop"`)
}

// Parse reads a text. An empty one limits nothing.
func Parse(text string) (Limits, error) {
	var l Limits
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		if !ok {
			return Limits{}, fmt.Errorf("%.40q is not NAME=VALUE, such as tokens=200k", part)
		}
		if seen[name] {
			return Limits{}, fmt.Errorf("%s is there twice", name)
		}
		seen[name] = true
		if err := l.set(name, value); err != nil {
			return Limits{}, err
		}
	}
	return l, l.check()
}

func (l *Limits) check() error {
	if l.Ask && l.None() {
		return errors.New("then=ask limits nothing: add tokens, cost, modelCalls, toolCalls or time")
	}
	return nil
}

// UnmarshalJSON reads an object, or a text.
func (l *Limits) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		read, err := Parse(text)
		*l = read
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var object map[string]any
	if err := dec.Decode(&object); err != nil || object == nil {
		return errors.New(`it is neither an object such as {"tokens": 200000} nor a text such as tokens=200k`)
	}
	var read Limits
	for _, name := range slices.Sorted(maps.Keys(object)) {
		text, isText := object[name].(string)
		if n, ok := object[name].(json.Number); ok {
			text, isText = n.String(), true
		}
		if !isText {
			return fmt.Errorf("%.40s: it is neither a number nor a text", name)
		}
		if err := read.set(name, text); err != nil {
			return err
		}
	}
	*l = read
	return read.check()
}

// MarshalJSON writes an object.
func (l Limits) MarshalJSON() ([]byte, error) {
	object := make(map[string]any)
	for _, k := range keys {
		switch text := k.show(&l); {
		case text == "":
		case k.name == "time" || k.name == "then":
			object[k.name] = text
		default:
			object[k.name] = json.Number(text)
		}
	}
	return json.Marshal(object)
}

// String returns the text that [Parse] reads.
func (l Limits) String() string {
	var parts []string
	for _, k := range keys {
		if text := k.show(&l); text != "" {
			parts = append(parts, k.name+"="+text)
		}
	}
	return strings.Join(parts, ",")
}
