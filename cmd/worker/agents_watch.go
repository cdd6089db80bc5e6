package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/internal/termtext"
)

// clearScreen moves a terminal's cursor to the top and clears what is below.
const clearScreen = "\x1b[H\x1b[2J"

// watchAgents prints the agents again with every new snapshot, until ctx ends.
// It opens nothing but the agent files, so a worker may run at the same time.
func (p *program) watchAgents(ctx context.Context, opts listOptions) error {
	ws, err := p.workspace()
	if err != nil {
		return err
	}
	opened := p.agentOptions(ws)
	opened.Logger = nil // it prints all that there is to log
	agents, err := agentdefs.Open(ctx, ws.Root, opened)
	if err != nil {
		return err
	}
	defer agents.Close()
	first := true
	for c := range agents.Changes(ctx) {
		if opts.json {
			err = p.printJSON(newWatchDocument(c, first), false)
		} else {
			err = p.showChange(c, first, opts)
		}
		if err != nil {
			return err
		}
		first = false
	}
	return ctx.Err()
}

func (p *program) showChange(c agentdefs.Change, first bool, opts listOptions) error {
	if p.outTerm.redraws {
		fmt.Fprint(p.stdout, clearScreen)
	}
	if err := p.tableAgents(c.Snapshot, opts); err != nil {
		return err
	}
	if !first {
		if _, err := fmt.Fprintln(p.stdout, changeLine(c)); err != nil {
			return err
		}
	}
	p.reportDiagnostics(c.Snapshot)
	return nil
}

// changeLine says in one line what has become of the agents.
func changeLine(c agentdefs.Change) string {
	var parts []string
	for _, group := range []struct {
		word  string
		names []string
	}{{"added", c.Added}, {"changed", c.Changed}, {"removed", c.Removed}} {
		if len(group.names) > 0 {
			parts = append(parts, group.word+": "+termtext.OneLine(strings.Join(group.names, ", "), 200))
		}
	}
	if len(parts) == 0 {
		return "no agent has changed, but what is said of the files"
	}
	return strings.Join(parts, "; ")
}

// watchDocument is a snapshot as --watch --json prints it, in one line.
type watchDocument struct {
	Version uint64   `json:"version"` // counts the snapshots from 1
	Added   []string `json:"added"`   // empty for the first one, as are the next two
	Changed []string `json:"changed"`
	Removed []string `json:"removed"`
	agentsDocument
}

func newWatchDocument(c agentdefs.Change, first bool) watchDocument {
	doc := watchDocument{c.Snapshot.Version, []string{}, append([]string{}, c.Changed...), append([]string{}, c.Removed...), newAgentsDocument(c.Snapshot)}
	if !first {
		doc.Added = append(doc.Added, c.Added...)
	}
	return doc
}
