package trusted

// Named is what a person says of a content that has a name. One content of a name is trusted at a
// time.
type Named interface{ TrustedName() string }

// HasName reports whether some content of a name is trusted.
func HasName[T Named](f *File[T], name string) bool {
	all, _ := f.Read() // a file that can't be read trusts nothing
	for _, said := range all {
		if said.TrustedName() == name {
			return true
		}
	}
	return false
}

// Set trusts the content of a hash, and no other content of its name any more.
func Set[T Named](f *File[T], hash string, said T) error {
	return f.Change(func(all map[string]T) {
		remove(all, said.TrustedName())
		all[hash] = said
	})
}

// Forget trusts no content of a name. It reports whether one was trusted.
func Forget[T Named](f *File[T], name string) (known bool, err error) {
	err = f.Change(func(all map[string]T) { known = remove(all, name) })
	return known, err
}

func remove[T Named](all map[string]T, name string) (known bool) {
	for hash, said := range all {
		if said.TrustedName() == name {
			delete(all, hash)
			known = true
		}
	}
	return known
}
