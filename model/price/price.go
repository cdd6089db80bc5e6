// Package price tells what models cost, from a built-in table and from a file that
// overrides it.
//
// Both have the form of https://models.dev/api.json: providers, their models, and for
// each the cost of a million tokens in US dollars.
//
//	{"anthropic": {"models": {"claude-sonnet-5-5": {"cost": {"input": 2, "output": 10, "cache_read": 0.1, "cache_write": 2.5}}}}}
//
// Of what else such a file says two things are read. "context_over_200k" beside "input"
// has the prices of a prompt of more than 200,000 tokens, and {"limit": {"context": N}}
// beside "cost" the tokens of the model's context window.
package price

import (
	_ "embed" // prices.json
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/model"
)

//go:embed prices.json
var builtIn []byte

// Table has the prices of models. It is immutable. nil and the zero value only know the
// models that cost nothing.
type Table struct {
	models  map[string]prices
	windows map[string]int64 // the tokens of their context windows
}

// prices are those of one model.
type prices struct {
	rates
	long []longPrompt // the longest last
}

// longPrompt has the prices of calls with more than over tokens of input.
type longPrompt struct {
	over int64
	rates
}

// rates are what a million tokens cost, in US dollars.
type rates struct{ input, output, read, write float64 }

// maxFile bounds a file of prices, in bytes.
const maxFile = 64 << 20

// Load returns the built-in prices and, over them, those of a file; empty means no file.
func Load(file string) (*Table, error) {
	table, err := builtInTable()
	if err != nil || file == "" {
		return table, err
	}
	data, err := boundedfile.Read(file, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading the prices of models: %w", err)
	}
	own, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("the prices of models in %s: %w", file, err)
	}
	both := &Table{maps.Clone(table.models), maps.Clone(table.windows)}
	maps.Copy(both.models, own.models)
	maps.Copy(both.windows, own.windows)
	return both, nil
}

var builtInTable = sync.OnceValues(func() (*Table, error) {
	return parse(builtIn)
})

func parse(data []byte) (*Table, error) {
	var providers map[string]struct {
		Models map[string]struct {
			Cost  json.RawMessage `json:"cost"`
			Limit struct {
				Context int64 `json:"context"`
			} `json:"limit"`
		} `json:"models"`
	}
	if err := json.Unmarshal(data, &providers); err != nil {
		return nil, fmt.Errorf("%w (the form is the one of https://models.dev/api.json)", err)
	}
	table := &Table{make(map[string]prices), make(map[string]int64)}
	for _, provider := range slices.Sorted(maps.Keys(providers)) {
		for name, m := range providers[provider].Models {
			if m.Limit.Context > 0 {
				table.windows[provider+"/"+name] = m.Limit.Context
			}
			if len(m.Cost) == 0 || string(m.Cost) == "null" {
				continue // not known
			}
			p, err := parseCost(m.Cost)
			if err != nil {
				return nil, fmt.Errorf("%s/%s: %w", provider, name, err)
			}
			table.models[provider+"/"+name] = p
		}
	}
	if len(table.models) == 0 {
		return nil, errors.New("it has no price of any model (the form is the one of https://models.dev/api.json)")
	}
	return table, nil
}

var contextOver = regexp.MustCompile(`^context_over_([0-9]{1,9})k$`)

func parseCost(data json.RawMessage) (prices, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return prices{}, fmt.Errorf("cost: %w", err)
	}
	base, err := parseRates(data)
	p := prices{rates: base}
	for key, value := range fields {
		found := contextOver.FindStringSubmatch(key)
		if found == nil || err != nil {
			continue
		}
		var long longPrompt
		if long.rates, err = parseRates(value); err != nil {
			return p, fmt.Errorf("%s: %w", key, err)
		}
		thousands, _ := strconv.ParseInt(found[1], 10, 64) // at most 9 digits
		long.over = thousands * 1000
		p.long = append(p.long, long)
	}
	slices.SortFunc(p.long, func(a, b longPrompt) int { return int(a.over - b.over) })
	return p, err
}

func parseRates(data json.RawMessage) (rates, error) {
	var cost struct {
		Input  *float64 `json:"input"`
		Output *float64 `json:"output"`
		Read   *float64 `json:"cache_read"`
		Write  *float64 `json:"cache_write"`
	}
	if err := json.Unmarshal(data, &cost); err != nil {
		return rates{}, fmt.Errorf("cost: %w", err)
	}
	if cost.Input == nil || cost.Output == nil {
		return rates{}, errors.New("cost lacks input or output")
	}
	r := rates{*cost.Input, *cost.Output, *cost.Input, *cost.Input}
	if cost.Read != nil {
		r.read = *cost.Read
	}
	if cost.Write != nil {
		r.write = *cost.Write
	}
	for _, rate := range []float64{r.input, r.output, r.read, r.write} {
		if rate < 0 || rate > 1e6 {
			return rates{}, fmt.Errorf("cost %v is not within 0 and 1,000,000 dollars for a million tokens", rate)
		}
	}
	return r, nil
}

// dated matches the end of a model's name that names one version of it.
var dated = regexp.MustCompile(`-([0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}|latest)$`)

// ratesOf returns the prices of a call with so many tokens of input of a model, which
// is named as [model.Model.Name] does. known false: nobody has said them.
func (t *Table) ratesOf(name string, input int64) (r rates, known bool) {
	if name == "offline" || strings.HasPrefix(name, "replay/") {
		return rates{}, true
	}
	if t == nil {
		return rates{}, false
	}
	p, known := t.models[name]
	if !known {
		p, known = t.models[dated.ReplaceAllString(name, "")]
	}
	r = p.rates
	for _, long := range p.long {
		if input > long.over {
			r = long.rates
		}
	}
	return r, known
}

const million = 1e6

// Cost returns the cost of one call of a model with [Table.Known] prices. u is the
// usage of that call: prices depend on the length of its prompt.
func (t *Table) Cost(name string, u model.Usage) model.USD {
	r, _ := t.ratesOf(name, u.InputTokens)
	plain := max(0, u.InputTokens-u.CacheReadTokens-u.CacheWriteTokens)
	return model.Dollars((float64(plain)*r.input + float64(u.CacheReadTokens)*r.read +
		float64(u.CacheWriteTokens)*r.write + float64(u.OutputTokens)*r.output) / million)
}

// Window returns how many tokens the context window of a model has; 0 means nobody has said
// it.
func (t *Table) Window(name string) int64 {
	if t == nil {
		return 0
	}
	if n := t.windows[name]; n > 0 {
		return n
	}
	return t.windows[dated.ReplaceAllString(name, "")]
}

// Known reports whether the prices of a model are known.
func (t *Table) Known(name string) bool {
	_, known := t.ratesOf(name, 0)
	return known
}

// Most returns what a call of a model costs at most, whatever comes from a cache or
// goes there.
func (t *Table) Most(name string, input, output int64) model.USD {
	r, _ := t.ratesOf(name, input)
	return model.Dollars((float64(input)*max(r.input, r.read, r.write) + float64(output)*r.output) / million)
}
