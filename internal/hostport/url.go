package hostport

import (
	"errors"
	"fmt"
	"net"
	"net/url"
)

// CheckURL returns why nothing confidential is sent to a URL: it has to be https, or http to this
// machine, and holds no password. Errors show no password.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("that is no URL")
	case u.User != nil:
		return errors.New("its URL has a password: give it in a header, by the name of a variable")
	case u.Hostname() == "":
		return fmt.Errorf("the URL %q names no host", text)
	case u.Scheme == "https":
		return nil
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("the URL %q is neither https nor of this machine", text)
}
