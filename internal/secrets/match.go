package secrets

import "strings"

// text is what is searched.
type text interface{ string | []byte }

// verdict tells whether there is a credential.
type verdict uint8

const (
	no    verdict = iota
	yes           // whatever follows
	maybe         // what follows decides
)

// Bounds of what is read before and behind the place where a credential may begin.
const (
	maxBefore  = 128 // no form looks back farther
	maxUser    = 96  // of the name in an address
	maxLabel   = 40  // of what a private key is called
	maxSegment = 512 // of the first part of a JWT
	maxSecret  = 256 // of a password in an address
	awsGap     = 26  // between the word secret and the value, and between aws and secret
)

// find returns the first place from i on where a credential begins, or may begin: then
// verdict is maybe. Without any, k is nil. final says that nothing follows the text.
func find[T text](s T, i int, final, asked bool) (at int, k *kind, v verdict) {
	for p := max(i, 1); p < len(s); p++ {
		for _, x := range prefixes[s[p-1]] {
			if p > 1 && x.before != 0 && s[p-2]|0x20 != x.before || asked && x.hides || !standsBefore(s, p, x) {
				continue
			}
			if v := match(s, p, x.kind, final); v != no && (x.form != aws || behindAWS(s, p)) {
				return p, x.kind, v
			}
		}
	}
	return 0, nil, no
}

// standsBefore reports whether a prefix is what s has before p, and is where one may be.
func standsBefore[T text](s T, p int, x prefix) bool {
	from := p - len(x.text)
	if from < 0 {
		return false
	}
	for i := len(x.text) - 1; i >= 0; i-- {
		c := s[from+i]
		if x.form == anyCase && c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != x.text[i] {
			return false
		}
	}
	if !x.inside {
		return from == 0 || !wordClass[s[from-1]] || from > 1 && s[from-2] == '\\' && isEscape(s[from-1])
	}
	switch x.form {
	case azure:
		return from >= 4 && s[from-1] >= '0' && s[from-1] <= '9' && tilde[s[from-2]] && tilde[s[from-3]] && tilde[s[from-4]]
	case address:
		return hasUser(s, from)
	case pem:
		return hasBegin(s, from)
	}
	return true
}

// isEscape reports whether c, following a backslash, is a line's end or a tab: then a
// word begins after it.
func isEscape(c byte) bool { return c == 'n' || c == 'r' || c == 't' }

// hasUser reports whether s has "scheme://user" before i.
func hasUser[T text](s T, i int) bool {
	from := i
	for from > 0 && i-from < maxUser && userName[s[from-1]] {
		from--
	}
	return from < i && from > 3 && s[from-1] == '/' && s[from-2] == '/' && s[from-3] == ':' && scheme[s[from-4]]
}

const (
	begin  = "-----BEGIN"
	end    = "-----END"
	dashes = "-----"
)

// hasBegin reports whether s has the begin of a private key's label before i.
func hasBegin[T text](s T, i int) bool {
	for at := i; at >= len(begin) && i-at <= maxLabel; at-- {
		if string(s[at-len(begin):at]) == begin {
			return true
		}
		if !label[s[at-1]] {
			return false
		}
	}
	return false
}

// behindAWS reports whether s has the words aws and secret shortly before p.
func behindAWS[T text](s T, p int) bool {
	at := lastWord(s, p, "secret")
	return at >= 0 && lastWord(s, at, "aws") >= 0
}

// lastWord returns where a word in whatever case begins that ends shortly before p, or -1.
func lastWord[T text](s T, p int, word string) int {
	for at := p - len(word); at >= 0 && p-at <= awsGap+len(word); at-- {
		i := 0
		for i < len(word) && s[at+i]|0x20 == word[i] {
			i++
		}
		if i == len(word) {
			return at
		}
	}
	return -1
}

// match decides whether the text at p, which follows a prefix of the kind, is masked.
func match[T text](s T, p int, k *kind, final bool) verdict {
	switch k.form {
	case aws:
		n := count(s, p, k.of, k.min+1)
		switch {
		case n < k.min:
			return atLeast(s, p, n, k.min, final)
		case n > k.min:
			return no
		case p+n == len(s):
			return atEnd(final, yes)
		case s[p+n] == '=':
			return no
		}
		return yes
	case address:
		n := count(s, p, k.of, maxSecret+1)
		switch {
		case n > maxSecret:
			return no
		case p+n == len(s):
			return atEnd(final, no)
		case n >= k.min && s[p+n] == '@':
			return yes
		}
		return no
	case jwt:
		n, v := segment(s, p, k, k.min, maxSegment, final)
		if v != yes {
			return v
		}
		p += n + 1
		for i := range len(k.after[0]) {
			switch {
			case p == len(s):
				return atEnd(final, no)
			case s[p] != k.after[0][i]:
				return no
			}
			p++
		}
	case twoRuns:
		n, v := segment(s, p, k, 20, 24, final)
		if v != yes {
			return v
		}
		p += n + 1
	}
	return atLeast(s, p, count(s, p, k.of, k.min), k.min, final)
}

// count counts the bytes of a class from p on, up to limit.
func count[T text](s T, p int, of *class, limit int) int {
	n := 0
	for n < limit && p+n < len(s) && of[s[p+n]] {
		n++
	}
	return n
}

// atLeast tells whether n bytes from p on, which are all that there are, are enough.
func atLeast[T text](s T, p, n, least int, final bool) verdict {
	switch {
	case n >= least:
		return yes
	case p+n == len(s):
		return atEnd(final, no)
	}
	return no
}

// atEnd is the verdict at the end of what has come.
func atEnd(final bool, then verdict) verdict {
	if final {
		return then
	}
	return maybe
}

// segment tells whether p begins from min to max bytes of the kind's class and ".", and
// counts them.
func segment[T text](s T, p int, k *kind, min, max int, final bool) (n int, v verdict) {
	n = count(s, p, k.of, max+1)
	switch {
	case n > max:
		return n, no
	case p+n == len(s):
		return n, atEnd(final, no)
	case n < min || s[p+n] != '.':
		return n, no
	}
	return n, yes
}

// rest returns where the credential ends that p is in. If over is false, it ends there
// unless the following text continues it.
func rest[T text](s T, p int, k *kind, final bool) (at int, over bool) {
	for p < len(s) {
		if k.of[s[p]] {
			p++
			continue
		}
		switch {
		case k.joint == 0 || s[p] != k.joint:
		case p+1 == len(s):
			return p, final
		case k.behind[s[p+1]]:
			p += 2
			continue
		}
		if k.form != pem {
			return p, true
		}
		at, v := endLine(s, p, final)
		return at, v != maybe
	}
	return p, final
}

// endLine returns where the line ends that ends a private key, if one begins at p, and
// else p.
func endLine[T text](s T, p int, final bool) (at int, v verdict) {
	for i := range len(end) {
		if p+i == len(s) {
			return p, atEnd(final, no)
		}
		if s[p+i] != end[i] {
			return p, no
		}
	}
	from := p + len(end)
	for i := from; i <= from+maxLabel+len("PRIVATE KEY BLOCK-----"); i++ {
		if i-from >= len(dashes) && string(s[i-len(dashes):i]) == dashes {
			name := string(s[from : i-len(dashes)])
			if strings.HasSuffix(name, "PRIVATE KEY") || strings.HasSuffix(name, "PRIVATE KEY BLOCK") {
				return i, yes
			}
			return p, no
		}
		if i == len(s) {
			return p, atEnd(final, no)
		}
		if !label[s[i]] {
			return p, no
		}
	}
	return p, no
}
