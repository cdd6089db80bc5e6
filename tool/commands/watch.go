package commands

import (
	"cmp"
	"strings"
	"time"

	"github.com/agentworker/worker/internal/termtext"
)

// How often a session hears of a command's output, and when a command is said to wait for input.
const (
	quietTime  = 3 * time.Second  // without output, where the last line has no end
	progressed = time.Second      // between two words about the output
	seldom     = 30 * time.Second // the same, once there were many
	many       = 60               // words
)

// Progress is what a command that runs has come to.
type Progress struct {
	Line  string // the last one that it has written
	Bytes int64  // that it has written
	Waits bool   // for input, as it seems: its last line has no end, and nothing has followed it for long
}

// watch tells the session what the command has come to. It returns with the command.
func (c *command) watch(s Session) {
	lines, last, seen := lineReader{log: c.log}, "", int64(0)
	var now, told Progress
	quiet := time.NewTimer(quietTime)
	defer quiet.Stop()
	var pause <-chan time.Time
	for words := 0; ; {
		total, grows := c.log.size()
		if total > seen {
			seen = total
			lines.each(total, func(line string) { last = cmp.Or(shown(line), last) })
			now = Progress{Line: cmp.Or(shown(plainLine(lines.line)), last), Bytes: total}
			quiet.Reset(quietTime)
		}
		if now != told && (pause == nil || now.Waits != told.Waits && words < many) {
			s.CommandProgressed(c.info, now)
			told = now
			wait := progressed
			if words++; words > many {
				wait = seldom
			}
			pause = time.After(wait)
		}
		select {
		case <-grows:
		case <-pause:
			pause = nil
		case <-c.typed:
			now.Waits = false
			quiet.Stop()
		case <-quiet.C:
			now.Waits = shown(plainLine(lines.line)) != ""
		case <-c.done:
			return
		}
	}
}

// shown is a line as people are shown it.
func shown(line string) string {
	return termtext.OneLine(strings.TrimSpace(line), termtext.MaxLabel)
}
