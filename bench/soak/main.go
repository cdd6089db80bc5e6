// Command soak drives the worker's binary, as processes, through the failures that
// docs/reliability.md names, and checks what is promised there. It prints a line of
// figures for each campaign, and ends with status 1 if a promise was broken.
//
//	go -C bench run ./soak                        # all campaigns, as long as they take
//	go -C bench run ./soak -short                 # the form for CI: little of each
//	go -C bench run ./soak -campaign kills,stops -duration 2m
//	go -C bench run ./soak -campaign kills -seed 42
//
// The seed decides what is done to which process, and when. What the processes make
// of it depends on the machine, too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/bench/binary"
)

// The environment variables with the configuration, in JSON, of the processes that the
// program starts of itself.
const (
	nodeVariable   = "SOAK_NATS_NODE" // a NATS server: see nodeConfig
	insideVariable = "SOAK_INSIDE"    // the campaign of the disk: see insideConfig
)

// campaign is one kind of failure.
type campaign struct {
	name  string
	about string

	// short and long are how long the failures go on in the two forms; 0 means as long
	// as the campaign's own steps take.
	short, long time.Duration

	run func(*run) error

	// longOnly says that the short form of all campaigns leaves it out: it takes minutes,
	// or a browser.
	longOnly bool
}

var campaigns = []campaign{
	{name: "kills", about: "kill -9 of workers, the leader first, with followers", short: 6 * time.Second, long: 4 * time.Minute, run: kills},
	{name: "stops", about: "SIGSTOP and SIGTERM of workers, the leader first", short: 5 * time.Second, long: 4 * time.Minute, run: stops},
	{name: "outages", about: "a NATS server that is away, and admits with another token", short: 5 * time.Second, long: 4 * time.Minute, run: outages},
	{name: "cluster", about: "three NATS servers: lines cut, leaders changed, nodes restarted", short: 5 * time.Second, long: 4 * time.Minute, run: cluster},
	{name: "disk", about: "a full disk that gets room again", short: 4 * time.Second, long: 2 * time.Minute, run: disk},
	{name: "readers", about: "ten readers of large events that read nothing", run: readers},
	{name: "page", about: "200 sessions at 50 events a second each, in a browser", short: 10 * time.Second, long: 10 * time.Minute, run: page, longOnly: true},
	{name: "steady", about: "tasks without a pause, in one worker", short: 8 * time.Second, long: 10 * time.Minute, run: steady},
	{name: "retained", about: "tasks without a pause, kept for a minute", short: 3 * time.Minute, long: 10 * time.Minute, run: retained, longOnly: true},
}

func main() {
	if config := os.Getenv(nodeVariable); config != "" {
		exit(runNode(config))
	}
	if config := os.Getenv(insideVariable); config != "" {
		exit(runInside(config))
	}
	var o options
	flag.BoolVar(&o.short, "short", false, "little of each: for CI")
	names := flag.String("campaign", "", "only these, separated by commas: "+strings.Join(campaignNames(), ", "))
	flag.DurationVar(&o.duration, "duration", 0, "how long the failures of a campaign go on (default: as each campaign says)")
	flag.Uint64Var(&o.seed, "seed", 0, "the seed of what is done when (default: a random one)")
	flag.StringVar(&o.binary, "worker", "", "the binary to drive (default: built from this repository)")
	keep := flag.Bool("keep", false, "keep the files of the workers, also where all is well")
	flag.Parse()
	if flag.NArg() > 0 {
		exit(fmt.Errorf("unexpected argument %q", flag.Arg(0)))
	}
	chosen, err := choose(*names, o.short)
	if err != nil {
		exit(err)
	}
	if o.seed == 0 {
		o.seed = rand.Uint64N(1_000_000) + 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(soak(ctx, os.Stdout, chosen, o, *keep))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func campaignNames() (names []string) {
	for _, c := range campaigns {
		names = append(names, c.name)
	}
	return names
}

func choose(names string, short bool) ([]campaign, error) {
	if names == "" {
		return slices.DeleteFunc(slices.Clone(campaigns), func(c campaign) bool { return short && c.longOnly }), nil
	}
	var chosen []campaign
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(campaigns, func(c campaign) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no campaign %q: there are %s", name, strings.Join(campaignNames(), ", "))
		}
		chosen = append(chosen, campaigns[i])
	}
	return chosen, nil
}

// soak runs campaigns one after the other. Its files are kept where something went
// wrong.
func soak(ctx context.Context, out io.Writer, chosen []campaign, o options, keep bool) error {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return err
	}
	if o.binary == "" {
		o.binary, err = binary.Build(ctx, dir)
	} else {
		o.binary, err = filepath.Abs(o.binary)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	fmt.Fprintf(out, "seed %d\n", o.seed)
	failed := playAll(ctx, out, chosen, o, dir)
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), os.RemoveAll(dir))
	}
	switch {
	case len(failed) > 0:
		return fmt.Errorf("not as promised: %s; to repeat: -seed %d -campaign %s; the files are in %s",
			strings.Join(failed, ", "), o.seed, strings.Join(failed, ","), dir)
	case keep:
		fmt.Fprintf(out, "the files are in %s\n", dir)
		return nil
	default:
		return os.RemoveAll(dir)
	}
}

// playAll plays campaigns, and returns the names of those that were not as promised.
// In the short form, whose times are not looked at, two are played at once: they
// mostly wait.
func playAll(ctx context.Context, out io.Writer, chosen []campaign, o options, dir string) (failed []string) {
	atOnce := 1
	if o.short {
		atOnce = 2
	}
	var playing sync.WaitGroup
	var printing sync.Mutex
	next := make(chan campaign)
	for range atOnce {
		playing.Go(func() {
			for c := range next {
				text, kept := c.play(ctx, o, filepath.Join(dir, c.name))
				printing.Lock()
				fmt.Fprint(out, text)
				if !kept {
					failed = append(failed, c.name)
				}
				printing.Unlock()
			}
		})
	}
	for _, c := range chosen {
		if ctx.Err() == nil {
			next <- c
		}
	}
	close(next)
	playing.Wait()
	return failed
}

// play runs a campaign, and returns what is printed of it and whether all was as
// promised.
func (c campaign) play(ctx context.Context, o options, dir string) (text string, kept bool) {
	r := newRun(ctx, c, o, dir)
	start := time.Now()
	err := c.run(r)
	r.close()
	if skipped := notRun(""); errors.As(err, &skipped) {
		return fmt.Sprintf("%-8s not run: %s\n", c.name, skipped), true
	}
	if err != nil {
		r.broke("%v", err)
	}
	verdict := "kept"
	if len(r.broken) > 0 {
		verdict = "BROKEN"
	}
	text = fmt.Sprintf("%-8s %-6s %4.0f s  %s\n", c.name, verdict, time.Since(start).Seconds(), strings.Join(r.figures, ", "))
	for _, line := range r.broken {
		text += "         " + line + "\n"
	}
	return text, len(r.broken) == 0
}

// notRun is why a campaign can't be run on this machine.
type notRun string

func (n notRun) Error() string { return string(n) }
