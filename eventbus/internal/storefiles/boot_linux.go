package storefiles

import (
	"os"
	"strings"
)

// bootID tells one start of the machine from another.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // empty means it is not known
	return strings.TrimSpace(string(id))
}
