package glob

import "regexp"

var extension = regexp.MustCompile(`^(.*)(\.[0-9A-Za-z_]+)$`)

// commonForm returns the parts of a form that picomatch treats specially, else
// nil. In these forms a last "/" of the input is optional, and a star at the
// end wants at least one character.
func commonForm(s string) []node {
	ext := ""
	for {
		if seq := commonStem(s, ext == ""); seq != nil {
			if ext != "" {
				seq = append(seq, literalNode(ext), maybeSlash)
			}
			return seq
		}
		m := extension.FindStringSubmatch(s)
		if m == nil {
			return nil
		}
		s, ext = m[1], m[2]+ext
	}
}

func commonStem(s string, atEnd bool) []node {
	dot, end := literalNode("."), star
	if atEnd {
		end.op = opSome
	}
	switch s {
	case "*", "**", "**/*":
		return []node{star}
	case ".*":
		return []node{dot, end}
	case "*.*", "**/*.*":
		return []node{star, dot, end}
	case "*/*":
		return []node{star, slash, end}
	case "**/.*":
		return []node{folders, dot, end}
	}
	return nil
}
