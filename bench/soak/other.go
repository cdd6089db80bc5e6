//go:build !linux

package main

import (
	"errors"
	"time"
)

type usage struct {
	rss, peak int64
	cpu       time.Duration
}

func usageOf(int) (usage, error) { return usage{}, errors.New("it is read from /proc") }

func disk(*run) error { return notRun("a small disk can be mounted on Linux alone") }

func runInside(string) error { return errors.ErrUnsupported }
