package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/provider"
)

// DefaultModel returns the model of a provider that is used if its key is set and no model is
// named.
func DefaultModel(of string) string {
	row, _ := provider.Named(of)
	return row.Default
}

// HostModel is the model of the MCP host that calls.
const HostModel = "host"

// ModelAliases are names for models, in lower case, with the model or the alias that each
// names.
type ModelAliases map[string]string

// check refuses aliases that lead to no model.
func (a ModelAliases) check(known func(provider string) bool) error {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if _, err := a.Resolve(name, known); err != nil {
			return fmt.Errorf("the model alias %s: %w", name, err)
		}
	}
	return nil
}

func cutAlias(pair string) (name, target string, err error) {
	name, target, ok := strings.Cut(pair, "=")
	name, target = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(target)
	switch {
	case !ok || name == "" || target == "":
		return "", "", errors.New("write NAME=MODEL, such as fast=" + BuiltinAliases["haiku"])
	case strings.Contains(name, "/"), name == "offline", name == "inherit":
		return "", "", fmt.Errorf("%q can't be an alias: it has a meaning of its own", name)
	}
	return name, target, nil
}

// unknownModel is the error for a name that no model has.
func unknownModel(name string, aliases ModelAliases) error {
	names := slices.Concat([]string{"offline", HostModel}, slices.Collect(maps.Keys(BuiltinAliases)), slices.Collect(maps.Keys(aliases)))
	return fmt.Errorf("unknown model %q%s: use offline, host, PROVIDER/NAME (such as anthropic/NAME or openai/NAME), replay/FILE, sonnet, opus, haiku or an alias of --model-alias",
		name, suggest.DidYouMean(name, names))
}

// Resolve returns the name of a model as "offline" or PROVIDER/NAME. name may be an alias,
// in any case, or a model without its provider. The mark of a long window ([model.CutLong]) stays
// where the model can have one. known reports whether there is a provider of a name.
func (a ModelAliases) Resolve(name string, known func(provider string) bool) (string, error) {
	if a[strings.ToLower(name)] == "" {
		if plain, long := model.CutLong(plainName(name)); long {
			name, err := a.resolve(plain, known)
			return model.WithLong(name), err
		}
	}
	return a.resolve(name, known)
}

func (a ModelAliases) resolve(name string, known func(provider string) bool) (string, error) {
	given := name
	if a[strings.ToLower(name)] == "" {
		name = plainName(name)
	}
	for range len(a) + 1 {
		target, ok := a[strings.ToLower(name)]
		if !ok {
			break
		}
		name = target
	}
	lower := strings.ToLower(name)
	if _, endless := a[lower]; endless {
		return "", fmt.Errorf("the model alias %s leads back to itself", given)
	}
	name = cmp.Or(BuiltinAliases[lower], name)
	at, rest, ok := strings.Cut(name, "/")
	switch family := ofFamily(name); {
	case name == "offline" || name == HostModel:
		return name, nil
	case ok && rest != "" && (at == "replay" || known(at)):
		return name, nil
	case !ok && family != "":
		return family, nil
	}
	return "", unknownModel(name, a)
}
