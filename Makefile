# The usual chores. Everything that has to pass: .ci/run

.PHONY: build test race bench bench-beside lint soak ci

build: ## the binary, in bin/
	go build -o bin/worker ./cmd/worker

test:
	go test ./...

race:
	go test -race -shuffle=on ./...

lint:
	gofmt -l .
	go vet ./...
	go tool staticcheck ./...

# make bench PKG=./permission; compare two runs with: go tool benchstat old new
PKG ?= ./...
bench:
	go test -run '^$$' -bench . -count 6 $(PKG)

# this project beside eino and bare JetStream, in one table of ratios
# (docs/performance.md); make bench-beside BESIDE='-rounds 9 -markdown'
BESIDE ?= -rounds 5
bench-beside:
	go -C bench run . $(BESIDE)

# long campaigns: the worker through kills, outages, full disks and the like
# (docs/reliability.md; make soak CAMPAIGNS='-campaign kills -duration 10m'), each file
# of a store damaged in each way, a kill at each append of a tree of sessions, all rows
# of the sandbox's attacks, in every way that a kernel can hold, everyday commands beside a shell, 2,000 answers of models
# that break in all ways, all rounds of the tests that CI runs in part, and what a store
# with much history costs
CAMPAIGNS ?=
HISTORY ?= -sessions 100000 -events 57
soak: # all of it, also behind what fails
	@failed=; \
	step() { echo "$$*"; env "$$@" || failed="$$failed$$(printf '\n  %s' "$$*")"; }; \
	step go -C bench run ./soak $(CAMPAIGNS); \
	step SOAK=1 go test -count 1 -timeout 30m -run TestDamage -v ./cmd/worker; \
	step SOAK=1 go test -count 1 -timeout 30m -run 'TestKilledTree|TestTakeoverTree' ./taskt; \
	step SANDBOX_ROWS=all go test -tags soak -count 1 -timeout 120m ./sandbox; \
	step SOAK=1 go test -count 1 -timeout 60m -run "TestAttacks|TestHarmless" ./cmd/worker; \
	step SOAK=1 go test -count 1 -timeout 30m -run TestFaults ./cmd/worker; \
	step WORKER_TEST_LONG=1 go test -count 1 -timeout 60m $$(grep -rl --include='*_test.go' WORKER_TEST_LONG . | xargs -n1 dirname | sort -u); \
	step go -C bench run ./soak/history $(HISTORY); \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

ci:
	.ci/run
