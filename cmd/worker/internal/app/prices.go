package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentworker/worker/cmd/worker/internal/cli"
	"github.com/agentworker/worker/internal/workspace"
	"github.com/agentworker/worker/model/price"
)

// KeptPrices returns the file of the prices that 'worker models update' keeps.
func KeptPrices(p *Program) (string, error) {
	dir, err := workspace.ConfigDir(p.Getenv)
	return filepath.Join(dir, "models.json"), err
}

// Prices returns what is known of models: the built-in table, over it what is kept, and over both the
// file of --prices.
func Prices(p *Program) (*price.Table, error) {
	kept, err := KeptPrices(p)
	if err == nil {
		_, err = os.Stat(kept)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kept = ""
	case err != nil:
		return nil, err
	}
	table, err := price.Load(kept, p.Settings.Prices)
	if err != nil {
		return nil, cli.Usage(err)
	}
	return table, nil
}
