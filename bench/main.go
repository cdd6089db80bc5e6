// Command bench compares this project with its peers: the same work of agents on
// eino, which keeps nothing, and the same events on JetStream alone. It prints one
// table with the ratios. docs/performance.md says how to read it.
//
// Every measurement is a process of its own. The peers take turns, so that what
// else the machine does hits all of them; a figure is the median of the rounds.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/bench/stream"
)

// measureLimit bounds one measurement.
const measureLimit = 5 * time.Minute

func main() {
	rounds := flag.Int("rounds", 5, "how often the peers take turns")
	quick := flag.Bool("quick", false, "one round with small numbers: shows that all works, not what it costs")
	markdown := flag.Bool("markdown", false, "print the table as Markdown")
	only := flag.String("rows", "", "only rows whose key this regular expression matches")
	one := flag.String("measure", "", "ROW/COLUMN: measure this in the process itself, and print JSON")
	profile := flag.String("cpuprofile", "", "with -measure: write a profile of the processor to this file")
	flag.Parse()
	if *one != "" {
		exit(profiled(*profile, func() error { return measureOne(*one, *quick) }))
	}
	chosen, err := choose(*only)
	if err != nil {
		exit(err)
	}
	if *quick {
		*rounds = 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	t, err := play(ctx, chosen, *rounds, *quick)
	if err != nil {
		exit(err)
	}
	lines := t.lines(chosen)
	if *markdown {
		fmt.Print(machine(*rounds), "\n\n")
		printMarkdown(os.Stdout, lines)
	} else {
		printText(os.Stdout, lines)
		fmt.Printf("\nratio: the cost here through the cost there, of rates too: below 1 is better\n%s\n", machine(*rounds))
	}
	exit(t.failures(chosen))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func choose(only string) ([]row, error) {
	re, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !re.MatchString(r.key) })
	if len(chosen) == 0 {
		var keys []string
		for _, r := range rows {
			keys = append(keys, r.key)
		}
		return nil, fmt.Errorf("no row matches %q: there are %s", only, strings.Join(keys, ", "))
	}
	return chosen, nil
}

// profiled runs f with a profile, if there is a file for it.
func profiled(file string, f func() error) error {
	if file == "" {
		return f()
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return f()
}

// measureOne does one measurement in this process.
func measureOne(name string, quick bool) error {
	of, column, _ := strings.Cut(name, "/")
	for _, r := range rows {
		measure, ok := r.peers[column]
		if r.key != of || !ok {
			continue
		}
		figures, err := measure(r.count(quick))
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(figures)
	}
	return fmt.Errorf("there is no measurement %q", name)
}

// play has the peers take turns. The error is the end of ctx; what a measurement
// fails with is in the results.
func play(ctx context.Context, rows []row, rounds int, quick bool) (*results, error) {
	t := &results{quick: quick, values: make(map[string][]float64), failed: make(map[string]error)}
	for round := range rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, rounds)
		for _, r := range rows {
			for i := range columns {
				column := columns[(i+round)%len(columns)] // each is first once
				if r.peers[column] == nil || t.failed[key(r.key, column)] != nil || round > 0 && r.slow == column {
					continue
				}
				figures, err := measureApart(ctx, key(r.key, column), quick)
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				if err != nil {
					t.failed[key(r.key, column)] = err
					continue
				}
				for name, v := range figures {
					t.values[key(r.key, column, name)] = append(t.values[key(r.key, column, name)], v)
				}
			}
		}
	}
	return t, nil
}

// measureApart does one measurement in a new process, with a folder of its own for
// what it stores.
func measureApart(ctx context.Context, name string, quick bool) (stream.Figures, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-measure", name, fmt.Sprintf("-quick=%t", quick))
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("it took longer than %v", measureLimit)
		}
		text := strings.TrimPrefix(strings.TrimSpace(errs.String()), "bench: ")
		return nil, errors.New(text[:min(len(text), 400)])
	}
	var figures stream.Figures
	err = json.Unmarshal(out.Bytes(), &figures)
	return figures, err
}

// failures returns what has failed, in the order of the table.
func (t *results) failures(rows []row) error {
	var errs []error
	for _, r := range rows {
		for _, column := range columns {
			if err := t.failed[key(r.key, column)]; err != nil {
				errs = append(errs, fmt.Errorf("%s, %s: %w", r.title(t.quick), column, err))
			}
		}
	}
	return errors.Join(errs...)
}
