package model_test

import (
	"encoding/json"
	"testing"

	"github.com/agentworker/worker/model"
)

func TestUsageCost(t *testing.T) {
	paid := func(tokens int64, cost json.Number) model.Usage {
		return model.Usage{InputTokens: tokens, Cost: cost}
	}
	for _, c := range []struct {
		of         []model.Usage
		want, show string
	}{
		{nil, "", "$0.0000"},
		{[]model.Usage{{}, paid(1, "0.5"), {}}, "0.5", "$0.5000"},
		{[]model.Usage{paid(1, "0.1"), paid(1, "0.2")}, "0.3", "$0.3000"},
		{[]model.Usage{paid(1, "0"), paid(1, "0")}, "0", "$0.0000"},
		{[]model.Usage{paid(1, "0.000000001"), paid(1, "12.5")}, "12.500000001", "$12.50"},
		{[]model.Usage{paid(1, "0.1"), paid(1, "")}, "", "unknown"},
		{[]model.Usage{paid(1, ""), paid(1, "0.1")}, "", "unknown"},
		{[]model.Usage{paid(1, "-1"), paid(1, "0.1")}, "", "unknown"},
		{[]model.Usage{paid(1, "1e300"), paid(1, "1e300")}, "9223372036.854776", "$9223372036.85"},
	} {
		var sum model.Usage
		for _, u := range c.of {
			sum = sum.Add(u)
		}
		if sum.Cost.String() != c.want || sum.ShowCost() != c.show {
			t.Errorf("the sum of %+v is %q, shown %q, want %q, %q", c.of, sum.Cost, sum.ShowCost(), c.want, c.show)
		}
		data, err := json.Marshal(sum)
		var back model.Usage
		if err != nil || json.Unmarshal(data, &back) != nil || back != sum {
			t.Errorf("%+v as JSON is %s, which is %+v", sum, data, back)
		}
	}
}
