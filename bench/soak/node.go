package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// nodeConfig is the configuration of a NATS server.
type nodeConfig struct {
	Name, Store, Token string
	Port               int
	ClusterPort        int // 0 means it is no node of a cluster
	ClusterPorts       []int
}

// runNode is a process that is a NATS server. It says "ready", and ends in order
// with its stdin.
func runNode(config string) error {
	var cfg nodeConfig
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		return err
	}
	opts := &server.Options{
		ServerName: cfg.Name, Host: "127.0.0.1", Port: cfg.Port, Authorization: cfg.Token,
		JetStream: true, StoreDir: cfg.Store, NoSigs: true, NoLog: true,
	}
	if cfg.ClusterPort > 0 {
		// NoAdvertise: clients know no way to a node around its line.
		opts.Cluster = server.ClusterOpts{Name: "soak", Host: "127.0.0.1", Port: cfg.ClusterPort, NoAdvertise: true}
	}
	for _, port := range cfg.ClusterPorts {
		opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	srv.Start()
	if !srv.ReadyForConnections(patience) {
		return errors.New("the NATS server does not start")
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // to its end
	srv.Shutdown()
	srv.WaitForShutdown()
	return nil
}

// node is a NATS server in a process of its own.
type node struct {
	nodeConfig
	cmd   *exec.Cmd // nil means it does not run
	stdin io.Closer
}

// startNode starts a server and returns when it takes connections.
func (n *node) start() error {
	config, err := json.Marshal(n.nodeConfig)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), nodeVariable+"="+string(config))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	n.cmd, n.stdin = cmd, stdin
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if lines := bufio.NewScanner(stdout); !lines.Scan() {
		return errors.Join(fmt.Errorf("the NATS server %s does not start", n.Name), n.halt(false))
	}
	return nil
}

// halt ends a server, in order or by a kill.
func (n *node) halt(inOrder bool) error {
	if n.cmd == nil {
		return nil
	}
	var err error
	if !inOrder {
		err = n.cmd.Process.Kill()
	}
	n.stdin.Close() // ends it in order
	late := time.AfterFunc(patience, func() { _ = n.cmd.Process.Kill() })
	defer late.Stop()
	_ = n.cmd.Wait() // a kill is its status
	n.cmd = nil
	return err
}

func (n *node) url() string { return fmt.Sprintf("nats://127.0.0.1:%d", n.Port) }

// freePorts returns ports on which nothing listens. They are below those that the
// system gives to outgoing connections: one must not take the port of a server that
// is away for a while.
func freePorts(n int) (ports []int, err error) {
	for tries := 0; len(ports) < n; tries++ {
		port := 12_000 + rand.IntN(18_000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			if tries > 1000 {
				return nil, err
			}
			continue
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports, nil
}
