package run

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentworker/worker/internal/boundedfile"
	"github.com/agentworker/worker/internal/picture"
)

// attachFlag names the files that belong to a prompt.
type attachFlag struct{ files []string }

func (f *attachFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.files, "attach", nil, "a picture that the subagent is shown with the prompt (png, jpeg, gif, webp); may be repeated")
}

// read reads the pictures. A person has named them: no rule is asked.
func (f *attachFlag) read() (all []picture.Attachment, err error) {
	for _, file := range f.files {
		data, err := boundedfile.Read(file, picture.MaxBytes)
		if err != nil {
			return nil, fmt.Errorf("--attach: %w", err)
		}
		p, err := picture.Read(filepath.Base(file), data)
		if err != nil {
			return nil, fmt.Errorf("--attach: %w", err)
		}
		all = append(all, picture.Attachment{Picture: &p})
	}
	return all, nil
}
