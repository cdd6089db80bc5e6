package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/agentworker/worker/model"
)

// Connection says how a provider's server is reached.
type Connection struct {
	UserAgent string
	Headers   map[string]string // added to each request; see [Placeholders]

	// Fresh returns further headers of each request. Again means that the server has refused the last
	// ones (401). nil means that there are none.
	Fresh func(ctx context.Context, again bool) (map[string]string, error)

	Query    map[string]string // added to each address
	CAFile   string            // certificates in PEM that the server's is checked against, besides the system's
	CertFile string            // the client's certificate, with KeyFile
	KeyFile  string
	Proxy    string // its URL, or none; empty means what HTTP_PROXY, HTTPS_PROXY and NO_PROXY say
}

// Client returns the HTTP client. It follows no redirects, since the key would go along.
func (c Connection) Client() (*http.Client, error) {
	transport := http.DefaultTransport
	if c.CAFile+c.CertFile+c.KeyFile+c.Proxy != "" {
		own, err := c.transport()
		if err != nil {
			return nil, err
		}
		transport = own
	}
	return &http.Client{
		Transport:     &adding{transport, c},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// idle is how long an unused connection is kept.
const idle = 90 * time.Second

func (c Connection) transport() (*http.Transport, error) {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: idle, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	switch c.Proxy {
	case "":
	case "none":
		t.Proxy = nil
	default:
		proxy, err := url.Parse(c.Proxy)
		if err != nil || proxy.Host == "" {
			return nil, errors.New("proxy: write none, or the URL of a proxy, such as http://proxy.example.com:3128")
		}
		t.Proxy = http.ProxyURL(proxy)
	}
	if c.CAFile != "" {
		data, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("caFile: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("caFile: %s has no certificate in PEM", c.CAFile)
		}
		t.TLSClientConfig.RootCAs = pool
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return nil, errors.New("certFile and keyFile belong together: one of them is missing")
	}
	if c.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("certFile, keyFile: %w", err)
		}
		t.TLSClientConfig.Certificates = []tls.Certificate{cert}
	}
	return t, nil
}

// adding adds headers and a query to requests.
type adding struct {
	to http.RoundTripper
	Connection
}

// RoundTrip implements [http.RoundTripper]. A request whose fresh headers are refused is sent once more
// with new ones.
func (a *adding) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := a.send(req, false)
	if err != nil || a.Fresh == nil || res.StatusCode != http.StatusUnauthorized || req.Body != nil && req.GetBody == nil {
		return res, err
	}
	if req.GetBody != nil {
		again := req.Clone(req.Context())
		if again.Body, err = req.GetBody(); err != nil {
			return res, nil
		}
		req = again
	}
	_ = res.Body.Close() // another answer counts
	return a.send(req, true)
}

func (a *adding) send(req *http.Request, again bool) (*http.Response, error) {
	req = req.Clone(req.Context())
	if a.UserAgent != "" {
		req.Header.Set("User-Agent", a.UserAgent)
	}
	for name, value := range a.Headers {
		if had := req.Header.Get(name); had != "" && http.CanonicalHeaderKey(name) == "Anthropic-Beta" { // a list
			value = had + "," + value
		}
		req.Header.Set(name, Placeholders(value, model.AskerOf(req.Context())))
	}
	if a.Fresh != nil {
		fresh, err := a.Fresh(req.Context(), again)
		if err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // as a RoundTripper has to
			}
			if req.Context().Err() != nil {
				return nil, err
			}
			return nil, &model.Error{Kind: model.ErrAuth, Message: err.Error(), Err: err}
		}
		for name, value := range fresh {
			req.Header.Set(name, value)
		}
	}
	if len(a.Query) > 0 {
		query := req.URL.Query()
		for name, value := range a.Query {
			query.Set(name, value)
		}
		req.URL.RawQuery = query.Encode()
	}
	return a.to.RoundTrip(req)
}
