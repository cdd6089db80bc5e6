// Package errtext puts errors in the words of people: those of Go's own packages
// name types and functions, not what is wrong.
package errtext

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Of returns the text of an error, with the texts of Go's own errors in it
// replaced. For nil it returns "".
func Of(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if own, ok := plain(err); ok {
		return own
	}
	for _, below := range unwrap(err) {
		if was, is := below.Error(), Of(below); was != "" && was != is {
			text = strings.Replace(text, was, is, 1)
		}
	}
	return text
}

func unwrap(err error) []error {
	switch err := err.(type) {
	case interface{ Unwrap() error }:
		if below := err.Unwrap(); below != nil {
			return []error{below}
		}
	case interface{ Unwrap() []error }:
		return err.Unwrap()
	}
	return nil
}

// plain returns the text in place of an error's own, if it is one of Go's.
func plain(err error) (string, bool) {
	if reflect.TypeOf(err).Comparable() { // what is not is none of them, and no key of a map
		if text, ok := sentinels[err]; ok {
			return text, true
		}
	}
	switch err := err.(type) {
	case *fs.PathError:
		return err.Path + ": " + Of(err.Err), true
	case *os.LinkError:
		return err.New + ": " + Of(err.Err), true
	case *os.SyscallError:
		return Of(err.Err), true
	case *exec.Error:
		return fmt.Sprintf("the program %s can't be started: %s", err.Name, Of(err.Err)), true
	case *strconv.NumError:
		if errors.Is(err.Err, strconv.ErrRange) {
			return fmt.Sprintf("%q is too large", err.Num), true
		}
		return fmt.Sprintf("%q is not %s", err.Num, numbers[err.Func]), true
	case *json.SyntaxError:
		return syntax(err), true
	case *json.UnmarshalTypeError:
		return mistyped(err), true
	case *url.Error:
		return err.URL + ": " + Of(err.Err), true
	case *net.OpError:
		if err.Op == "dial" || err.Op == "listen" {
			if err.Addr != nil {
				return err.Addr.String() + ": " + Of(err.Err), true
			}
		}
		return Of(err.Err), true
	case *net.DNSError:
		if err.IsNotFound {
			return fmt.Sprintf("there is no host %s", err.Name), true
		}
		return fmt.Sprintf("the name %s could not be looked up", err.Name), true
	case *net.AddrError:
		return fmt.Sprintf("%s is not an address: %s", err.Addr, err.Err), true
	case *net.ParseError:
		return fmt.Sprintf("%q is no %s", err.Text, err.Type), true
	case *tls.CertificateVerificationError:
		return Of(err.Err), true
	case x509.UnknownAuthorityError:
		return "its certificate is signed by an authority that is not known here", true
	case x509.HostnameError:
		return "its certificate is that of another host", true
	case x509.CertificateInvalidError:
		return "its certificate is not valid: " + strings.TrimPrefix(err.Error(), "x509: "), true
	case tls.RecordHeaderError:
		return "it does not speak TLS (https)", true
	case syscall.Errno:
		if text, ok := errnos[err]; ok {
			return text, true
		}
	case *time.ParseError:
		return fmt.Sprintf("%q is not a time", err.Value), true
	}
	if s := err.Error(); strings.HasPrefix(s, "time: ") && strings.Contains(s, "duration") {
		return "write a time with its unit, such as 90s, 5m or 1h", true
	}
	switch s := err.Error(); {
	case strings.HasPrefix(s, "hujson: "): // "line 2, column 1: parsing value: …"
		own := s
		for _, below := range unwrap(err) {
			own = strings.Replace(own, below.Error(), Of(below), 1)
		}
		return strings.TrimPrefix(own, "hujson: "), true
	case strings.HasPrefix(s, "json: unknown field "):
		name, err := strconv.Unquote(strings.TrimPrefix(s, "json: unknown field "))
		if err != nil || len(name) <= maxField {
			return strings.TrimPrefix(s, "json: "), true
		}
		return fmt.Sprintf("unknown field %.20q…, of %d bytes", name, len(name)), true
	case strings.HasPrefix(s, "slog: level string"):
		return "use debug, info, warn or error", true
	}
	return "", false
}

// maxField bounds what is shown of a field that somebody made up, in bytes.
const maxField = 64

var sentinels = map[error]string{
	context.DeadlineExceeded: "it took too long",
	context.Canceled:         "it was cancelled",
	os.ErrDeadlineExceeded:   "it took too long",
	io.EOF:                   "it ended before it was complete",
	io.ErrUnexpectedEOF:      "it ended before it was complete",
	net.ErrClosed:            "the connection was closed",
	os.ErrClosed:             "it is closed",
	os.ErrNotExist:           "there is no such file",
	os.ErrPermission:         "permission denied",
	exec.ErrNotFound:         "it is not in PATH",
	bufio.ErrTooLong:         "a line is too long",
	bufio.ErrFinalToken:      "it ended too soon",
}

var errnos = map[syscall.Errno]string{
	syscall.ECONNREFUSED: "nothing listens there (connection refused)",
	syscall.ECONNRESET:   "the other side has broken the connection",
	syscall.EPIPE:        "the other side has closed the connection",
	syscall.ENOENT:       "there is no such file or folder",
	syscall.ENOTDIR:      "a part of the path is not a folder",
	syscall.EISDIR:       "it is a folder",
	syscall.EADDRINUSE:   "the address is in use",
	syscall.EHOSTUNREACH: "the host can't be reached",
	syscall.ENETUNREACH:  "the network can't be reached",
	syscall.ETIMEDOUT:    "it does not answer",
}

// numbers says what the functions of strconv read.
var numbers = map[string]string{
	"ParseInt": "a whole number", "ParseUint": "a whole number from 0", "Atoi": "a whole number",
	"ParseFloat": "a number", "ParseBool": "true or false", "Unquote": "a quoted text",
}

func syntax(err *json.SyntaxError) string {
	text := err.Error()
	switch {
	case strings.HasPrefix(text, "unexpected end"):
		return "not JSON: it ends too soon"
	case strings.HasPrefix(text, "invalid character"):
		char, _, _ := strings.Cut(strings.TrimPrefix(text, "invalid character "), " in ")
		char, _, _ = strings.Cut(char, " after ")
		char, _, _ = strings.Cut(char, " looking ")
		return fmt.Sprintf("not JSON: %s can't stand at byte %d", char, err.Offset)
	}
	return fmt.Sprintf("not JSON at byte %d", err.Offset)
}

func mistyped(err *json.UnmarshalTypeError) string {
	want := "something else"
	switch kind := err.Type.Kind().String(); {
	case kind == "string":
		want = "a text"
	case kind == "bool":
		want = "true or false"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		want = "a whole number"
	case strings.HasPrefix(kind, "float"):
		want = "a number"
	case kind == "slice", kind == "array":
		want = "a list"
	case kind == "map", kind == "struct":
		want = "an object"
	}
	where := "it"
	if err.Field != "" {
		where = err.Field
	}
	found, literal, isLiteral := strings.Cut(err.Value, " ")
	if isLiteral { // "number 1.5"
		return fmt.Sprintf("%s has to be %s, not %.32s", where, want, literal)
	}
	return fmt.Sprintf("%s has to be %s, not %s", where, want, map[string]string{
		"string": "a text", "number": "a number", "array": "a list", "object": "an object", "bool": "true or false",
	}[found])
}
