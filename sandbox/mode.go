package sandbox

import "fmt"

// Mode says what becomes of a command that no sandbox can hold.
type Mode string

const (
	Required Mode = "required" // it does not run
	Auto     Mode = "auto"     // somebody is asked
	Off      Mode = "off"      // no sandbox: a call is asked about where rules deny files
)

// ParseMode returns the mode that s spells. "" is [Auto].
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return Auto, nil
	case Required, Auto, Off:
		return m, nil
	}
	return "", fmt.Errorf("unknown sandbox mode %q (use required, auto or off)", s)
}
