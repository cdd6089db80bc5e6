package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// machine says what the figures were measured on, and with what.
func machine(rounds int) string {
	where := fmt.Sprintf("%d cores%s, %s/%s, %s", runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			switch dep.Path {
			case "github.com/cloudwego/eino", "github.com/nats-io/nats-server/v2":
				name := strings.TrimSuffix(dep.Path, "/v2")
				where += fmt.Sprintf(", %s %s", name[strings.LastIndexByte(name, '/')+1:], dep.Version)
			}
		}
	}
	if rounds == 1 {
		return where + "; one round"
	}
	return fmt.Sprintf("%s; medians of %d rounds", where, rounds)
}

// processor returns the name of the processor, where Linux tells it.
func processor() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return " of " + strings.TrimSpace(value)
		}
	}
	return ""
}
