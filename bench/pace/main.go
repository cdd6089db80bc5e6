//go:build unix

// Command pace measures what the pieces of answers cost that models stream: a local server speaks Chat
// Completions to the sessions of one process, which store all of it. Each is measured twice in a row: each
// piece by itself, and at the pace of the product. Server and sessions are processes of their own.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// load is what is measured.
type load struct {
	Sessions int
	Rate     int // pieces a second, of each session
	For      time.Duration
	Each     bool   // piece by itself
	Profile  string // a file for the profile of the processor
}

// figures are what came of a load.
type figures struct {
	Cores            float64 // of processors
	Micros           float64 // of a processor, for a piece
	First, FirstHigh float64 // ms until a client has the first piece of an answer: the median, and 99 of 100
	Later, LaterHigh float64 // ms of the others
	Lost             int     // sessions whose answer is not whole
}

func main() {
	serve := flag.Bool("serve", false, "be the server")
	work := flag.String("work", "", "be the sessions: a load in JSON")
	url := flag.String("url", "", "of the server")
	sessions := flag.String("sessions", "1,100,1000", "how many sessions")
	rates := flag.String("rates", "50,200", "pieces a second of each")
	duration := flag.Duration("for", 10*time.Second, "how long an answer streams")
	profile := flag.String("cpuprofile", "", "a file for the profile of the sessions' processor time, of the last load that is joined")
	flag.Parse()
	var err error
	switch {
	case *serve:
		err = serveModel()
	case *work != "":
		var l load
		if err = json.Unmarshal([]byte(*work), &l); err == nil {
			err = measure(l, *url)
		}
	default:
		err = compare(numbers(*sessions), numbers(*rates), *duration, *profile)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pace:", err)
		os.Exit(1)
	}
}

func numbers(list string) (all []int) {
	for one := range strings.SplitSeq(list, ",") {
		var n int
		if _, err := fmt.Sscan(one, &n); err == nil && n > 0 {
			all = append(all, n)
		}
	}
	return all
}

// compare prints a line for each load, with both ways side by side.
func compare(sessions, rates []int, duration time.Duration, profile string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	server := exec.Command(self, "-serve")
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		return err
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err
	}
	fmt.Printf("%d processors, %s\n", runtime.NumCPU(), loadNow())
	fmt.Println("                    cores                   us a piece              ms until a client has the first piece  and a later one: half, and 99 of 100")
	fmt.Println("sessions  a second  each    joined  ratio   each   joined  ratio    each             joined            each             joined")
	var failed error
	for _, n := range sessions {
		for _, rate := range rates {
			var by [2]figures // each piece by itself, and joined
			for way := range by {
				if by[way], err = run(self, strings.TrimSpace(line), load{n, rate, duration, way == 0, profile}); err != nil {
					return err
				}
				if lost := by[way].Lost; lost > 0 {
					failed = errors.Join(failed, fmt.Errorf("%d of %d sessions at %d a second: the answer is not whole", lost, n, rate))
				}
			}
			each, joined := by[0], by[1]
			fmt.Printf("%8d  %8d  %5.2f  %6.2f  %6.2f  %6.1f  %6.1f  %5.2f  %7.1f %7.1f  %7.1f %7.1f  %7.1f %7.1f  %7.1f %7.1f\n", n, rate, each.Cores, joined.Cores, joined.Cores/each.Cores,
				each.Micros, joined.Micros, joined.Micros/each.Micros,
				each.First, each.FirstHigh, joined.First, joined.FirstHigh, each.Later, each.LaterHigh, joined.Later, joined.LaterHigh)
		}
	}
	fmt.Println("afterwards: " + loadNow())
	return failed
}

// loadNow says how busy the machine is: ratios hold on a busy one, times and cores do not.
func loadNow() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load not known"
	}
	average, _, _ := strings.Cut(string(data), " ")
	return "load " + average
}

func run(self, url string, l load) (f figures, err error) {
	data, err := json.Marshal(l)
	if err != nil {
		return f, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), (steady+2)*l.For+2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-work", string(data), "-url", url)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(out, &f)
}
