package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/internal/suggest"
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

// BuiltinAliases are the names that agent files of other tools use for
// Anthropic's models. The user's aliases come before them.
var BuiltinAliases = map[string]string{
	"sonnet": DefaultModel("anthropic"),
	"opus":   "claude-opus-5-5",
	"haiku":  "claude-haiku-5-5",
}

// openAIModel matches the names of OpenAI's models: gpt-5.5, o3, o4-mini.
var openAIModel = regexp.MustCompile(`^(gpt-|o\d+(-|$))`)

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
		return "", "", errors.New("write NAME=MODEL, such as fast=anthropic/" + BuiltinAliases["haiku"])
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
// in any case, or a model of Anthropic or OpenAI without its provider. known reports whether
// there is a provider of a name.
func (a ModelAliases) Resolve(name string, known func(provider string) bool) (string, error) {
	given := name
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
	switch {
	case name == "offline" || name == HostModel:
		return name, nil
	case ok && rest != "" && (at == "replay" || known(at)):
		return name, nil
	case !ok && strings.HasPrefix(name, "claude-"):
		return "anthropic/" + name, nil
	case !ok && openAIModel.MatchString(name):
		return "openai/" + name, nil
	}
	return "", unknownModel(name, a)
}
