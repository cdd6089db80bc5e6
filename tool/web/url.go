package web

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/agentworker/worker/internal/hostport"
)

// maxURL bounds a URL, in bytes.
const maxURL = 8 << 10

// Canonical returns the one spelling of a URL that rules see and that is requested. Scheme and
// host are in small letters, a name in its ASCII form. Default port, dot segments, fragment and
// escapes of unreserved characters are left out. An error says why the URL is not fetched.
func Canonical(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil, errors.New("url is empty")
	case len(text) > maxURL:
		return nil, fmt.Errorf("url has more than %d bytes", maxURL)
	case !utf8.ValidString(text):
		return nil, errors.New("url is not UTF-8")
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return nil, errors.New("url has a blank or control character in it: write it as %20")
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("url %.100q: only http and https are fetched", text)
	case u.User != nil:
		return nil, errors.New("url has a user name or password in it, which is not sent")
	case u.Opaque != "" || u.Hostname() == "":
		return nil, fmt.Errorf("url %.100q names no host", text)
	}
	if u.Host, err = canonicalHost(u); err != nil {
		return nil, err
	}
	made := &url.URL{Scheme: u.Scheme, Host: u.Host, RawQuery: unescape(u.RawQuery)}
	if made.Path, made.RawPath, err = canonicalPath(u.EscapedPath()); err != nil {
		return nil, err
	}
	return made, nil
}

// maxHost bounds a host as it is written, in bytes. Names of the internet have 253 at most.
const maxHost = 1000

// canonicalHost returns the host of a URL, with its port unless that is the scheme's.
func canonicalHost(u *url.URL) (string, error) {
	name, usual := u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if len(name) > maxHost {
		return "", fmt.Errorf("url: the host has more than %d bytes", maxHost)
	}
	if !strings.Contains(name, ":") {
		ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(name, "."))
		if err != nil {
			return "", fmt.Errorf("url: the host %.100q: %w", name, err)
		}
		if again, err := idna.Lookup.ToASCII(ascii); err != nil || again != ascii {
			return "", fmt.Errorf("url: the host %.100q has no one spelling", name)
		}
		name = ascii
	}
	port := u.Port()
	if port == "" {
		port = usual
	}
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	hostport, err := hostport.Canonical(name + ":" + port)
	if err != nil {
		return "", fmt.Errorf("url: %w", err)
	}
	return strings.TrimSuffix(hostport, ":"+usual), nil
}

// hostPort returns host:port of a canonical URL.
func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return u.Host + ":" + map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// canonicalPath returns a path without dot segments, and its escaped form. Empty segments stay,
// other than by path.Clean.
func canonicalPath(escaped string) (plain, raw string, err error) {
	raw = unescape(escaped)
	end := ""
	if strings.HasSuffix(raw, "/") || strings.HasSuffix(raw, "/.") || strings.HasSuffix(raw, "/..") {
		end = "/"
	}
	var kept []string
	for part := range strings.SplitSeq(strings.TrimPrefix(raw, "/"), "/") {
		switch part {
		case ".":
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, part)
		}
	}
	raw = "/" + strings.Join(kept, "/")
	if end != "" && !strings.HasSuffix(raw, "/") {
		raw += end
	}
	if plain, err = url.PathUnescape(raw); err != nil {
		return "", "", fmt.Errorf("url: %w", err)
	}
	return plain, raw, nil
}

const hexDigits = "0123456789ABCDEF"

// unescape returns text without escapes of the characters that RFC 3986 calls unreserved. All
// others are escaped in capitals.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' && i+2 < len(text) {
			if high, low := hex(text[i+1]), hex(text[i+2]); high >= 0 && low >= 0 {
				c = byte(high<<4 | low)
				i += 2
				if !unreserved(c) {
					b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
					continue
				}
			}
		} else if c >= 0x80 || strings.IndexByte("\\^`{|}\"<>", c) >= 0 {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func hex(c byte) int { return strings.IndexByte(hexDigits, byte(strings.ToUpper(string(rune(c)))[0])) }

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
