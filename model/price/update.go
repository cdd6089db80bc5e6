package price

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"

	"github.com/agentworker/worker/internal/atomicfile"
	"github.com/agentworker/worker/internal/boundedfile"
)

// modelName is what a model of a document may be called.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9@._:/~+-]{0,199}$`)

// provider is a provider as a file says it.
type provider struct {
	Date   string              `json:"date,omitempty"`
	Models map[string]rawModel `json:"models"`
}

// Update adds the models of a document of models.dev to a file of prices. It makes the file if there is
// none, and returns how many models it has added or changed. named returns our name of a provider there;
// an empty one leaves the provider out. date is the day of the document. An error changes nothing.
func Update(file, document, date string, named func(theirs string) string) (changed int, err error) {
	data, err := boundedfile.Read(document, maxFile)
	if err != nil {
		return 0, err
	}
	if _, err := parse(data); err != nil {
		return 0, err
	}
	var theirs, kept map[string]provider
	if err := json.Unmarshal(data, &theirs); err != nil {
		return 0, err
	}
	old, err := boundedfile.Read(file, maxFile)
	if err == nil {
		err = json.Unmarshal(old, &kept)
	}
	if err != nil && !os.IsNotExist(err) {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	if kept == nil {
		kept = make(map[string]provider)
	}
	for _, there := range slices.Sorted(maps.Keys(theirs)) {
		name := named(there)
		if name == "" || len(theirs[there].Models) == 0 {
			continue
		}
		here := provider{Date: date, Models: kept[name].Models}
		if here.Models == nil {
			here.Models = make(map[string]rawModel)
		}
		for id, m := range theirs[there].Models {
			if !modelName.MatchString(id) {
				return 0, fmt.Errorf("%s: %.200q can't be the name of a model", there, id)
			}
			here.Models[id] = m
			changed++
		}
		kept[name] = here
	}
	if changed == 0 {
		return 0, fmt.Errorf("it has no model of a provider that is known here")
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return 0, err
	}
	if _, err := parse(text); err != nil {
		return 0, err
	}
	return changed, atomicfile.Write(file, append(text, '\n'), 0o644)
}

// Names returns the names of all models that the table knows, sorted.
func (t *Table) Names() []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(t.rows)), maps.Keys(t.models))
	if t.more {
		all = append(all, listedTable().Names()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Rates returns what a million tokens of input and of output cost, in US dollars. known false: nobody
// has said it.
func (t *Table) Rates(name string) (input, output float64, known bool) {
	r, known := t.ratesOf(name, 0)
	return r.input, r.output, known
}
