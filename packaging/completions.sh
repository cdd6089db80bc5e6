#!/bin/sh
# Writes the completions of worker into a folder.
set -eu
mkdir -p "$1"
for shell in bash zsh fish powershell; do
	go run ./cmd/worker completion "$shell" >"$1/worker.$shell"
done
