package page

import "sync"

// cache keeps values that browsers ask for again and again. When its values are larger than
// max together, it starts again without them.
type cache[K comparable, V any] struct {
	max int

	mu     sync.Mutex
	values map[K]V
	size   int
}

func (c *cache[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value, ok = c.values[key]
	return value, ok
}

func (c *cache[K, V]) put(key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += size; c.values == nil || c.size > c.max {
		c.values, c.size = make(map[K]V), size
	}
	c.values[key] = value
}
