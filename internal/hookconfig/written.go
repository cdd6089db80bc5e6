package hookconfig

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// unwritten returns the command without the files that it only writes to: those behind > and
// >>, and the arguments of tee. One that can't be parsed is returned as it is.
func (h *Hook) unwritten() string {
	if h.Exec {
		return h.Command
	}
	parsed, err := syntax.NewParser().Parse(strings.NewReader(h.Command), "")
	if err != nil {
		return h.Command
	}
	line := []byte(h.Command)
	blank := func(n syntax.Node) {
		for i := n.Pos().Offset(); i < n.End().Offset() && i < uint(len(line)); i++ {
			line[i] = ' '
		}
	}
	syntax.Walk(parsed, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			switch n.Op {
			case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
				blank(n.Word)
			}
		case *syntax.CallExpr:
			if len(n.Args) > 1 && n.Args[0].Lit() == "tee" {
				for _, arg := range n.Args[1:] {
					blank(arg)
				}
			}
		}
		return true
	})
	return string(line)
}
