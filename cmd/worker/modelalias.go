package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// modelAliases are names for models, in lower case, with what they stand for: a
// model or another alias. As a flag it takes one NAME=MODEL at a time.
type modelAliases map[string]string

// String implements [pflag.Value].
func (a modelAliases) String() string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		pairs = append(pairs, name+"="+a[name])
	}
	return strings.Join(pairs, ",")
}

// Type implements [pflag.Value].
func (a modelAliases) Type() string { return "NAME=MODEL" }

// Set implements [pflag.Value].
func (a modelAliases) Set(pair string) error {
	name, target, err := cutAlias(pair)
	if err != nil {
		return err
	}
	if old, taken := a[name]; taken && old != target {
		return fmt.Errorf("the alias %s is given twice, as %s and as %s", name, old, target)
	}
	a[name] = target
	return nil
}

// setEnv takes pairs with commas between. Aliases that are there stay.
func (a modelAliases) setEnv(list string) error {
	more := modelAliases{}
	for pair := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		if err := more.Set(pair); err != nil {
			return err
		}
	}
	a.add(more)
	return nil
}

// setConfig takes an object of names and models. Aliases that are there stay.
func (a modelAliases) setConfig(value json.RawMessage, _ string) error {
	var object map[string]string
	if json.Unmarshal(value, &object) != nil || object == nil {
		return errors.New("write an object of names and models")
	}
	more := modelAliases{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if err := more.Set(name + "=" + object[name]); err != nil {
			return err
		}
	}
	a.add(more)
	return nil
}

func (a modelAliases) add(more modelAliases) {
	for name, target := range more {
		if _, taken := a[name]; !taken {
			a[name] = target
		}
	}
}

// check refuses aliases that lead to no model.
func (a modelAliases) check() error {
	m := models{aliases: a}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if _, err := m.resolve(name); err != nil {
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
		return "", "", errors.New("write NAME=MODEL, such as fast=anthropic/" + builtinAliases["haiku"])
	case strings.Contains(name, "/"), name == "offline", name == "inherit":
		return "", "", fmt.Errorf("%q can't be an alias: it has a meaning of its own", name)
	}
	return name, target, nil
}
