package symlink_test

import (
	"errors"
	"path"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/internal/symlink"
)

// walk returns where name leads in a file system of nothing but links.
func walk(t *testing.T, links map[string]string, name string) (string, error) {
	t.Helper()
	at := "/"
	p := symlink.Split(name)
	for name, ok := p.Next(); ok; name, ok = p.Next() {
		next := path.Join(at, name)
		target, isLink := links[next]
		if !isLink {
			at = next
			continue
		}
		root, err := p.Follow(target)
		if err != nil {
			return "", err
		}
		if root != "" {
			at = filepath.ToSlash(root)
		}
	}
	return at, nil
}

func TestFollow(t *testing.T) {
	links := map[string]string{
		"/a/rel": "b/c", "/a/abs": "/x/y", "/a/up": "../z", "/a/dir": "rel/d", "/a/loop": "loop", "/a/slash": "./b//c/",
	}
	for name, want := range map[string]string{
		"/":             "/",
		"/a/b":          "/a/b",
		"/a//./b/":      "/a/b",
		"/a/b/../c":     "/a/c",
		"/a/rel":        "/a/b/c",
		"/a/rel/..":     "/a/b",
		"/a/rel/e":      "/a/b/c/e",
		"/a/abs/e":      "/x/y/e",
		"/a/up/e":       "/z/e",
		"/a/dir/e":      "/a/b/c/d/e",
		"/a/slash/../e": "/a/b/e",
	} {
		if got, err := walk(t, links, name); got != want || err != nil {
			t.Errorf("%s leads to %q, %v; want %q", name, got, err, want)
		}
	}
	if got, err := walk(t, links, "/a/loop"); !errors.Is(err, symlink.ErrTooMany) {
		t.Errorf("a loop leads to %q, %v", got, err)
	}
}

// TestMaxLinks holds that a path may lead through as many links as in Linux, and
// through no more.
func TestMaxLinks(t *testing.T) {
	p := symlink.Split("a")
	for range symlink.MaxLinks {
		if _, err := p.Follow("b"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Follow("b"); !errors.Is(err, symlink.ErrTooMany) {
		t.Errorf("one more link: %v", err)
	}
}

func TestRest(t *testing.T) {
	p := symlink.Split("a/b/c")
	p.Next()
	if got := path.Join(p.Rest()...); got != "b/c" {
		t.Errorf("the rest is %q", got)
	}
}
