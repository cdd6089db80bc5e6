package toolcatalog

import "strings"

// PatchPaths returns the paths that a patch for [ApplyPatch] names, in its order.
func PatchPaths(patch string) (paths []string) {
	for line := range strings.Lines(patch) {
		for _, header := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
			if path, ok := strings.CutPrefix(strings.TrimSpace(line), header); ok {
				paths = append(paths, strings.TrimSpace(path))
			}
		}
	}
	return paths
}
