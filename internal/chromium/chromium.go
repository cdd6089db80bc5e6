// Package chromium starts the Chromium of this machine, without a window, for the
// programs and tests that drive the live page.
package chromium

import (
	"context"
	"errors"
	"os/exec"

	"github.com/chromedp/chromedp"
)

// ErrNone is the error where no browser is found.
var ErrNone = errors.New("there is no Chromium: .ci/browser installs it")

// Path returns the browser's program.
func Path() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNone
}

// Start starts a browser with a profile of its own, which it keeps in dir. The context is
// for [Tab]. stop ends the browser.
func Start(ctx context.Context, dir string) (browser context.Context, stop func(), err error) {
	path, err := Path()
	if err != nil {
		return nil, nil, err
	}
	browser, stop = chromedp.NewExecAllocator(ctx, chromedp.ExecPath(path), chromedp.UserDataDir(dir),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.WindowSize(1280, 860),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("no-proxy-server", true))
	return browser, stop, nil
}

// Tab opens a tab: the first one of a browser, or one beside another, with which it shares
// the cookies. close closes it.
func Tab(browser context.Context) (tab context.Context, close func(), err error) {
	tab, close = chromedp.NewContext(browser)
	if err := chromedp.Do(tab); err != nil {
		close()
		return nil, nil, err
	}
	return tab, close, nil
}
