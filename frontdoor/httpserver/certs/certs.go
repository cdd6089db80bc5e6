// Package certs has the certificate of the HTTP door, as its files have it at the moment.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"sync"

	"github.com/agentworker/worker/internal/fileinfo"
)

// Pair is a certificate and its key. When the files change they are read again; while they
// do not belong together, or cannot be read, the last good ones count.
type Pair struct {
	cert, key string
	log       *slog.Logger

	mu    sync.Mutex
	infos [2]fs.FileInfo // of the files as they were read
	said  string         // what was logged last
	pair  *tls.Certificate
}

// Open reads the files. A key that everybody can read is an error.
func Open(certFile, keyFile string, log *slog.Logger) (*Pair, error) {
	p := &Pair{cert: certFile, key: keyFile, log: log}
	if err := p.read(); err != nil {
		return nil, err
	}
	return p, nil
}

// read reads the files if they have changed. p.mu is held, or nobody else has p yet.
func (p *Pair) read() error {
	var infos [2]fs.FileInfo
	for i, path := range []string{p.cert, p.key} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		infos[i] = info
	}
	if p.pair != nil && fileinfo.Same(infos[0], p.infos[0]) && fileinfo.Same(infos[1], p.infos[1]) {
		return nil
	}
	if mode := infos[1].Mode().Perm(); mode&0o007 != 0 && runtime.GOOS != "windows" {
		return fmt.Errorf("the key %s can be read by everybody (mode %o): 'chmod 600' closes it", p.key, mode)
	}
	pair, err := tls.LoadX509KeyPair(p.cert, p.key)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", p.cert, p.key, err)
	}
	p.pair, p.infos = &pair, infos
	return nil
}

// current returns the certificate that counts now.
func (p *Pair) current() *tls.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	said := ""
	if err := p.read(); err != nil {
		said = err.Error()
	}
	if said != "" && said != p.said {
		p.log.Error("the certificate of before counts on", "err", said)
	}
	p.said = said
	return p.pair
}

// Config is how a server uses the certificate.
func (p *Pair) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.current(), nil },
	}
}

// Names reports whether the certificate is one for a host: a name, or an address.
func (p *Pair) Names(host string) bool {
	pair := p.current()
	leaf := pair.Leaf
	if leaf == nil {
		var err error
		if leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return false
		}
	}
	return leaf.VerifyHostname(host) == nil
}
