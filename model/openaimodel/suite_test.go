package openaimodel_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/openaimodel"
	"github.com/agentworker/worker/model/replaymodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key is the key of all tests here. No error may show it.
const key = "sk-secret-0123456789"

func TestSuite(t *testing.T) {
	modeltest.Suite(t, func(t *testing.T, script replaymodel.Script) model.Model {
		return on(modeltest.New(t, script, &modeltest.Options{Key: key}))
	})
}

// TestSuiteByteWise has the answers arrive byte by byte.
func TestSuiteByteWise(t *testing.T) {
	modeltest.Suite(t, func(t *testing.T, script replaymodel.Script) model.Model {
		return on(modeltest.New(t, script, &modeltest.Options{Key: key, Split: 1}))
	})
}

// on returns a model on a server that does not try again.
func on(server *modeltest.Server) model.Model {
	return client(modeltest.Client{URL: server.URL + "/v1", Key: key, Retries: new(int)})
}

// client returns a model that calls as c says.
func client(c modeltest.Client) model.Model {
	return openaimodel.New("gpt-test", &openaimodel.Options{APIKey: c.Key, BaseURL: c.URL, HTTPClient: c.HTTP, MaxRetries: c.Retries})
}

// TestForms: what servers and gateways were seen to send.
func TestForms(t *testing.T) {
	modeltest.Forms(t, "chat", client)
}

// TestStablePrefix: a provider's cache of a request holds for the next one.
func TestStablePrefix(t *testing.T) { modeltest.StablePrefix(t, "messages", on) }
