// Package price tells what models cost, from a built-in table and from a file that
// overrides it.
//
// Both have the form of https://models.dev/api.json: providers, their models, and for
// each the cost of a million tokens in US dollars.
//
//	{"anthropic": {"models": {"claude-sonnet-5-5": {"cost": {"input": 2, "output": 10, "cache_read": 0.1, "cache_write": 2.5}}}}}
//
// Of what else such a file says a few things are read. "context_over_200k" beside "input"
// has the prices of a prompt of more than 200,000 tokens, or {"tiers": [{"tier": {"size": N}, "input": …}]}
// those of one of more than N. {"limit": {"context": N, "output": N}}
// beside "cost" has the tokens of the model's context window and of its longest answer,
// {"modalities": {"input": ["text", "image"]}} what it takes, and "last_updated" the date.
package price

import (
	"bytes"
	"cmp"
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

// builtIn has the models of which the provider's own pages were read.
//
//go:embed prices.json
var builtIn []byte

// listed has further models of all providers: see generate.go.
//
//go:generate go run generate.go ../../../models.dev "2026-07-02, f3fc692299671838c7c65fd8126bf84d81a2e817"
//go:embed listed.json
var listed []byte

// Table has the prices of models. It is immutable. nil and the zero value only know the
// models that cost nothing.
type Table struct {
	models map[string]prices
	rows   map[string]Row
	more   bool // what it does not know may be listed
}

// Row is what is known of a model beside its prices. The zero Row knows nothing.
type Row struct {
	Window int64  // the tokens of the context window; 0 means not known
	Output int64  // the tokens of the longest answer; 0 means not known
	Vision bool   // it takes images; false also means not known
	Date   string // when this was so, as in 2026-11-27; empty means not known
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

// Load returns the built-in prices and, over them, those of files, each over the one before. An empty
// name means no file.
func Load(files ...string) (*Table, error) {
	table, err := builtInTable()
	for _, file := range files {
		if err != nil || file == "" {
			continue
		}
		table, err = table.with(file)
	}
	return table, err
}

// with returns the table with the prices of a file over its own.
func (t *Table) with(file string) (*Table, error) {
	data, err := boundedfile.Read(file, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading the prices of models: %w", err)
	}
	own, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("the prices of models in %s: %w", file, err)
	}
	both := &Table{maps.Clone(t.models), maps.Clone(t.rows), t.more}
	maps.Copy(both.models, own.models)
	maps.Copy(both.rows, own.rows)
	return both, nil
}

var builtInTable = sync.OnceValues(func() (*Table, error) {
	table, err := parse(builtIn)
	if err == nil {
		table.more = true
	}
	return table, err
})

// listedTable is read when a model is asked for that the others do not have: that takes some ms.
var listedTable = sync.OnceValue(func() *Table {
	table, err := parse(listed)
	if err != nil {
		panic("listed.json, which is built in: " + err.Error())
	}
	return table
})

// isListed reports whether a model may be listed, without reading the list.
func isListed(name string) bool {
	_, model, _ := strings.Cut(name, "/")
	return bytes.Contains(listed, []byte(`"`+model+`":{`))
}

// price returns the prices of a model of exactly that name.
func (t *Table) price(name string) (p prices, known bool) {
	if p, known = t.models[name]; !known && t.more && isListed(name) {
		p, known = listedTable().models[name]
	}
	return p, known
}

// row returns the row of a model of exactly that name.
func (t *Table) row(name string) (row Row, known bool) {
	if row, known = t.rows[name]; !known && t.more && isListed(name) {
		row, known = listedTable().rows[name]
	}
	return row, known
}

func parse(data []byte) (*Table, error) {
	var providers map[string]provider
	if err := json.Unmarshal(data, &providers); err != nil {
		return nil, fmt.Errorf("%w (the form is the one of https://models.dev/api.json)", err)
	}
	table := &Table{models: make(map[string]prices), rows: make(map[string]Row)}
	for _, of := range slices.Sorted(maps.Keys(providers)) {
		p := providers[of]
		for name, m := range p.Models {
			if row := m.row(p.Date); row != (Row{Date: row.Date}) {
				table.rows[of+"/"+name] = row
			}
			if len(m.Cost) == 0 || string(m.Cost) == "null" {
				continue // not known
			}
			cost, err := parseCost(m.Cost)
			if err != nil {
				return nil, fmt.Errorf("%s/%s: %w", of, name, err)
			}
			table.models[of+"/"+name] = cost
		}
	}
	if len(table.models) == 0 {
		return nil, errors.New("it has no price of any model (the form is the one of https://models.dev/api.json)")
	}
	return table, nil
}

// rawModel is a model as a file says it.
type rawModel struct {
	Cost  json.RawMessage `json:"cost,omitempty"`
	Limit struct {
		Context int64 `json:"context"`
		Input   int64 `json:"input,omitempty"` // the part that a prompt may fill; 0 means all
		Output  int64 `json:"output"`
	} `json:"limit"`
	Modalities struct {
		Input []string `json:"input"`
	} `json:"modalities"`
	Updated string `json:"last_updated,omitempty"`
	Date    string `json:"date,omitempty"` // of this model's row, if it is another than its provider's
}

// row returns what m says. date is the day of its provider's list.
func (m *rawModel) row(date string) Row {
	date = cmp.Or(m.Date, date, m.Updated)
	window := max(0, m.Limit.Context)
	if m.Limit.Input > 0 {
		window = min(window, m.Limit.Input)
	}
	return Row{window, max(0, m.Limit.Output), slices.Contains(m.Modalities.Input, "image"), date}
}

var contextOver = regexp.MustCompile(`^context_over_([0-9]{1,9})k$`)

func parseCost(data json.RawMessage) (prices, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return prices{}, fmt.Errorf("cost: %w", err)
	}
	base, err := parseRates(data)
	p := prices{rates: base}
	if err == nil && fields["tiers"] != nil { // context_over_200k beside them may have another limit
		p.long, err = parseTiers(fields["tiers"])
		fields = nil
	}
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

// parseTiers reads the prices of long prompts, each with its limit.
func parseTiers(data json.RawMessage) (long []longPrompt, err error) {
	var tiers []json.RawMessage
	if err := json.Unmarshal(data, &tiers); err != nil {
		return nil, fmt.Errorf("tiers: %w", err)
	}
	for _, tier := range tiers {
		var of struct {
			Tier struct {
				Type string
				Size int64
			}
		}
		if err := json.Unmarshal(tier, &of); err != nil {
			return nil, fmt.Errorf("tiers: %w", err)
		}
		if of.Tier.Type != "" && of.Tier.Type != "context" {
			continue
		}
		next := longPrompt{over: max(0, of.Tier.Size)}
		if next.rates, err = parseRates(tier); err != nil {
			return nil, fmt.Errorf("tiers: %w", err)
		}
		long = append(long, next)
	}
	return long, nil
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
	name, _ = model.CutLong(name)
	p, known := t.price(name)
	if !known {
		p, known = t.price(dated.ReplaceAllString(name, ""))
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

// Row returns what is known of a model, which is named as [model.Model.Name] does. The mark of a long
// window counts ([model.CutLong]).
func (t *Table) Row(name string) Row {
	if t == nil {
		return Row{}
	}
	name, long := model.CutLong(name)
	row, ok := t.row(name)
	if !ok {
		row, _ = t.row(dated.ReplaceAllString(name, ""))
	}
	if long {
		row.Window = max(row.Window, model.LongWindow)
	}
	return row
}

// Window returns how many tokens the context window of a model has; 0 means nobody has said
// it.
func (t *Table) Window(name string) int64 { return t.Row(name).Window }

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
