package replaymodel_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/model/replaymodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	modeltest.Suite(t, func(_ *testing.T, script replaymodel.Script) model.Model {
		return replaymodel.New("replay/suite", script)
	})
}
