package glob

import (
	"regexp"
)

var extension = regexp.MustCompile(`^(.*)(\.[0-9A-Za-z_]+)$`)

// commonForm returns the parts of the forms that picomatch has a path of its
// own for: there a last "/" of the input is optional, and a star at the end
// wants at least one character. nil means no form.
func commonForm(s string) []node {
	ext := ""
	for {
		if seq := commonStem(s, ext == ""); seq != nil {
			if ext != "" {
				seq = append(seq, node{op: opLiteral, text: ext}, node{op: opMaybeSlash})
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
	star, dot, end := node{op: opStar}, node{op: opLiteral, text: "."}, node{op: opStar}
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
		return []node{star, {op: opLiteral, text: "/"}, end}
	case "**/.*":
		return []node{{op: opFolders}, dot, end}
	}
	return nil
}
