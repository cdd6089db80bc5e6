# A static worker that runs as nobody in particular, on a root file system that is read only:
#
#   docker build -t worker --build-arg VERSION=1.2.3 .
#   docker run -i --rm --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#     --user "$(id -u):$(id -g)" -v "$PWD:/workspace" -v worker-state:/state -e ANTHROPIC_API_KEY worker mcp
FROM golang:1.26-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X github.com/agentworker/worker/cmd/worker/internal/app.stamped=${VERSION}" \
      -o /out/worker ./cmd/worker \
 && mkdir -m 1777 /out/state

FROM alpine:3.22
# What agents run: git, and the shell that is there.
RUN apk add --no-cache ca-certificates git
COPY --from=build /out/worker /usr/local/bin/worker
COPY --from=build --chown=65532:65532 /out/state /state
ENV HOME=/state XDG_CONFIG_HOME=/state/config WORKER_STATE_DIR=/state/worker
USER 65532:65532
WORKDIR /workspace
VOLUME /state
ENTRYPOINT ["worker"]
CMD ["mcp"]
