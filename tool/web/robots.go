package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/temoto/robotstxt"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// Bounds of what is known of robots.txt.
const (
	robotsTime = 15 * time.Minute // after it the file is asked for again
	maxRobots  = 512 << 10        // bytes that are read of a file
	maxSites   = 256              // whose files are known
)

// robotsName is what a robots.txt calls the worker.
const robotsName = "agentworker"

// sites are the files of the sites that were asked, by scheme and host.
type sites struct {
	mu    sync.Mutex
	known map[string]site
}

type site struct {
	says  *robotstxt.RobotsData
	until time.Time
}

// asked returns why a site's robots.txt does not want a URL fetched; nil means that it may be. A
// site without such a file wants everything fetched, and one whose file can't be had nothing.
func (t *fetchTool) asked(ctx context.Context, call *tool.Call, client *http.Client, u *url.URL) error {
	if !t.opts.Robots {
		return nil
	}
	file := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	says := t.sites.get(file.String())
	if says == nil {
		if d := call.Rules.Decide(values(file)); d.Action == permission.Deny {
			return fmt.Errorf("%s is not fetched: whether the site wants it is not known, since %s", u, d.Reason())
		}
		res, err := t.followed(ctx, call, client, file)
		if err != nil {
			return err
		}
		if says, err = robotstxt.FromStatusAndBytes(res.status, res.body[:min(len(res.body), maxRobots)]); err != nil {
			return fmt.Errorf("%s can't be read: %w", file, err)
		}
		t.sites.put(file.String(), says)
	}
	if !says.TestAgent(u.RequestURI(), robotsName) {
		return fmt.Errorf("%s is not fetched: %s does not want it (--web-robots)", u, file)
	}
	return nil
}

// followed gets a robots.txt, if need be from where it is redirected to (RFC 9309, 2.3.1.2).
func (t *fetchTool) followed(ctx context.Context, call *tool.Call, client *http.Client, at *url.URL) (*response, error) {
	for range maxRedirects + 1 {
		res, err := t.get(ctx, client, at)
		if err != nil {
			return nil, plain(at, err)
		}
		to, err := t.next(ctx, call, at, res)
		if err != nil {
			return nil, err
		}
		if to == nil {
			if res.status >= 300 && res.status < 400 { // to nowhere: no file
				res.status = http.StatusNotFound
			}
			return res, nil
		}
		at = to
	}
	return nil, fmt.Errorf("%s: more than %d redirects", at, maxRedirects)
}

func (s *sites) get(file string) *robotstxt.RobotsData {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.known[file]; ok && time.Now().Before(at.until) {
		return at.says
	}
	return nil
}

func (s *sites) put(file string, says *robotstxt.RobotsData) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxSites {
		s.known = make(map[string]site)
	}
	s.known[file] = site{says, time.Now().Add(robotsTime)}
}
