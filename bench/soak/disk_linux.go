package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// insideConfig is what a process is told that may mount file systems which nobody
// else sees.
type insideConfig struct {
	Dir, Worker string
	Seed        uint64
	Duration    time.Duration
	Short       bool
}

// outcome is what it says in the end, in JSON on stdout.
type outcome struct {
	NotRun          string
	Figures, Broken []string
}

// diskSize is that of the disk that is filled.
const diskSize = "64m"

// disk runs workers whose state folder is on a small disk, and fills it for a while,
// in a process that may mount one.
func disk(r *run) error {
	config, err := json.Marshal(insideConfig{r.dir, r.binary, r.seed, r.duration, r.short})
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(r.ctx, self)
	cmd.Env = append(os.Environ(), insideVariable+"="+string(config))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return notRun("this system does not let a process mount a small disk: " + err.Error())
	}
	waited := cmd.Wait()
	var said outcome
	if err := json.Unmarshal(out.Bytes(), &said); err != nil {
		return fmt.Errorf("%w: %s%s", errors.Join(waited, err), out.String(), errs.String())
	}
	if said.NotRun != "" {
		return notRun(said.NotRun)
	}
	r.figures = said.Figures
	for _, line := range said.Broken {
		r.broke("%s", line)
	}
	return nil
}

// runInside is the process that disk starts.
func runInside(text string) error {
	var config insideConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := options{short: config.Short, duration: config.Duration, seed: config.Seed, binary: config.Worker}
	r := newRun(ctx, campaign{name: "disk"}, o, config.Dir)
	var skipped notRun
	err := r.fillDisk()
	if err != nil && !errors.As(err, &skipped) {
		r.broke("%v", err)
	}
	r.close()
	return json.NewEncoder(os.Stdout).Encode(outcome{string(skipped), r.figures, r.broken})
}

// fillDisk is the campaign itself.
func (r *run) fillDisk() error {
	f, err := r.newFleet(shape{words: 15, pause: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	if err := os.Mkdir(f.state, 0o700); err != nil {
		return err
	}
	if err := syscall.Mount("none", f.state, "tmpfs", 0, "mode=0700,size="+diskSize); err != nil {
		return notRun("this system does not let a process mount a small disk: " + err.Error())
	}
	if err := f.startAll(2); err != nil {
		return err
	}
	longest := r.either(3*time.Second, 20*time.Second)
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	wait := f.callers(ctx, 2)
	times := 0
	var full time.Duration
	for range r.rounds(1, 500*time.Millisecond, 2*time.Second) {
		free, err := fill(f.state)
		if err != nil {
			return err
		}
		away := r.between(0, longest)
		if away > storeMargin {
			f.excuse(nil, "failed")
		}
		r.pause(away)
		if away > storeMargin { // those that began meanwhile
			f.excuse(nil, "failed")
		}
		if err := free(); err != nil {
			return err
		}
		full, times = max(full, away), times+1
	}
	cancel()
	wait()
	r.figure("%d times full for up to %s", times, full.Round(100*time.Millisecond))
	return f.audit()
}

// fill leaves no room on a disk, and returns what makes room again.
func fill(dir string) (free func() error, err error) {
	ballast := filepath.Join(dir, "ballast")
	file, err := os.Create(ballast)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for block := bytes.Repeat([]byte("x"), 64<<10); len(block) > 0; {
		if _, err = file.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return nil, err
	}
	return func() error { return os.Remove(ballast) }, nil
}
