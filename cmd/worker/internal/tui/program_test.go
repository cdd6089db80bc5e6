package tui

import tea "charm.land/bubbletea/v2"

// keyNames are keys that are not the text they type.
var keyNames = map[string]tea.Key{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "pgdown": {Code: tea.KeyPgDown},
	"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd', Mod: tea.ModCtrl}, "ctrl+j": {Code: 'j', Mod: tea.ModCtrl},
}

// press passes on keys: names of [keyNames], and text.
func press(update func(tea.Msg), keys []string) {
	for _, key := range keys {
		if k, ok := keyNames[key]; ok {
			update(tea.KeyPressMsg(k))
			continue
		}
		for _, r := range key {
			update(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}
