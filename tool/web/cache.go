package web

import (
	"sync"
	"time"
)

// Bounds of the cache.
const (
	cacheTime  = 15 * time.Minute
	cacheBytes = 32 << 20 // of text
)

// cache has the pages that sessions have fetched, so that the parts of one are parts of the same
// page. Sessions don't share pages: what one may fetch, another may not.
type cache struct {
	now func() time.Time

	mu    sync.Mutex
	pages map[[2]string]cached // by session and key
	size  int
}

type cached struct {
	page *page
	at   time.Time
}

func newCache(now func() time.Time) *cache {
	return &cache{now: now, pages: make(map[[2]string]cached)}
}

// get returns a page that is not too old; nil means that there is none.
func (c *cache) get(session, key string) *page {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.pages[[2]string{session, key}]
	if !ok || c.now().Sub(found.at) > cacheTime {
		return nil
	}
	return found.page
}

// put keeps a page. What is too old goes, and the oldest pages until there is room.
func (c *cache) put(session, key string, p *page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := [2]string{session, key}
	c.remove(at)
	c.pages[at] = cached{p, c.now()}
	c.size += len(p.text)
	for k, v := range c.pages {
		if c.now().Sub(v.at) > cacheTime {
			c.remove(k)
		}
	}
	for c.size > cacheBytes && len(c.pages) > 1 {
		var oldest [2]string
		for k, v := range c.pages {
			if first, ok := c.pages[oldest]; !ok || v.at.Before(first.at) {
				oldest = k
			}
		}
		c.remove(oldest)
	}
}

func (c *cache) remove(at [2]string) {
	if found, ok := c.pages[at]; ok {
		c.size -= len(found.page.text)
		delete(c.pages, at)
	}
}
