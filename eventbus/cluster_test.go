package eventbus_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
)

// nodeEnv is the environment variable with the configuration, in JSON, of the server
// that a process is to run.
const nodeEnv = "AGENTWORKER_TEST_NATS_NODE"

type nodeConfig struct {
	Name         string
	Store        string
	Port         int
	ClusterPort  int
	ClusterPorts []int
}

// TestClusterNode is not a test: the processes of a cluster run it. It reports on
// stdout when it is ready, and ends with its stdin.
func TestClusterNode(t *testing.T) {
	text := os.Getenv(nodeEnv)
	if text == "" {
		return
	}
	var cfg nodeConfig
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		t.Fatal(err)
	}
	opts := &server.Options{
		ServerName: cfg.Name, Host: "127.0.0.1", Port: cfg.Port, JetStream: true, StoreDir: cfg.Store, NoSigs: true, NoLog: true,
		// NoAdvertise: clients know no way to a node around a proxy.
		Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: cfg.ClusterPort, NoAdvertise: true},
	}
	for _, port := range cfg.ClusterPorts {
		opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not start")
	}
	fmt.Println("ready")
	bufio.NewScanner(os.Stdin).Scan()
	srv.Shutdown()
	srv.WaitForShutdown()
}

// cluster is three servers, each in a process of its own.
type cluster struct {
	t     *testing.T
	nodes []*node
}

type node struct {
	nodeConfig
	cmd   *exec.Cmd
	stdin *os.File
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := plannedCluster(t)
	for _, n := range c.nodes {
		c.start(n)
	}
	return c
}

// plannedCluster returns a cluster of which no node runs. Each knows of all others.
func plannedCluster(t *testing.T) *cluster {
	ports := freePorts(t, 6)
	c := &cluster{t: t}
	for i := range 3 {
		c.nodes = append(c.nodes, &node{nodeConfig: nodeConfig{
			Name: fmt.Sprintf("n%d", i), Store: filepath.Join(t.TempDir(), "js"), Port: ports[i], ClusterPort: ports[3+i], ClusterPorts: ports[3:],
		}})
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			if n.cmd != nil {
				c.kill(n)
			}
		}
	})
	return c
}

// freePorts returns loopback ports on which nothing listens. They are below the range
// from which the system takes a port for whoever asks for any.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000)))
		if err != nil {
			continue
		}
		defer l.Close()
		if ports = append(ports, l.Addr().(*net.TCPAddr).Port); len(ports) == n {
			return ports
		}
	}
	t.Fatalf("%d of %d ports are free", len(ports), n)
	return nil
}

func (c *cluster) urls() string {
	var urls []string
	for _, n := range c.nodes {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", n.Port))
	}
	return strings.Join(urls, ",")
}

// start starts a node, and returns when it accepts connections.
func (c *cluster) start(n *node) {
	c.t.Helper()
	text, err := json.Marshal(n.nodeConfig)
	if err != nil {
		c.t.Fatal(err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		c.t.Fatal(err)
	}
	n.cmd = exec.Command(os.Args[0], "-test.run=^TestClusterNode$")
	n.cmd.Env = append(os.Environ(), nodeEnv+"="+string(text))
	n.cmd.Stdin, n.cmd.Stderr = in, os.Stderr
	stdout, err := n.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	in.Close()
	n.stdin = out
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if lines.Text() == "ready" {
			return
		}
	}
	c.t.Fatalf("node %s does not start", n.Name)
}

// stop shuts a node down in order; kill kills it.
func (c *cluster) stop(n *node) {
	n.stdin.Close()
	c.gone(n)
}

func (c *cluster) kill(n *node) {
	if err := n.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		c.t.Errorf("killing %s: %v", n.Name, err)
	}
	n.stdin.Close()
	c.gone(n)
}

func (c *cluster) gone(n *node) {
	_ = n.cmd.Wait() // its status says how it ended, which we know
	n.cmd = nil
}

// named returns the node with a server name.
func (c *cluster) named(name string) *node {
	for _, n := range c.nodes {
		if n.Name == name {
			return n
		}
	}
	c.t.Fatalf("there is no node %q", name)
	return nil
}

// client returns a connection that outlives the nodes.
func (c *cluster) client() (*nats.Conn, jetstream.JetStream) {
	c.t.Helper()
	conn, err := nats.Connect(c.urls(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		c.t.Fatal(err)
	}
	return conn, js
}

// healthy waits until all streams have a leader and two replicas that are up to
// date, and returns the leaders by stream.
func (c *cluster) healthy(ctx context.Context, js jetstream.JetStream, streams ...string) map[string]string {
	c.t.Helper()
	leaders := make(map[string]string)
	var last []byte // what a server has said
	for len(leaders) < len(streams) {
		clear(leaders)
		for _, name := range streams {
			attempt, stop := context.WithTimeout(ctx, 2*time.Second)
			stream, err := js.Stream(attempt, name)
			stop()
			if ctx.Err() != nil {
				c.t.Fatalf("the cluster does not recover: stream %s: %v, last: %s", name, err, last)
			}
			if err == nil {
				last, _ = json.Marshal(stream.CachedInfo())
			}
			if err == nil && inForce(stream.CachedInfo().Cluster) {
				leaders[name] = stream.CachedInfo().Cluster.Leader
			}
		}
	}
	return leaders
}

// stepDown has the leader of the event stream give up its lead.
func (c *cluster) stepDown(ctx context.Context, conn *nats.Conn) {
	c.t.Helper()
	if _, err := conn.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+eventbus.Stream, nil); err != nil {
		c.t.Fatal(err)
	}
}

func inForce(info *jetstream.ClusterInfo) bool {
	if info == nil || info.Leader == "" || len(info.Replicas) != 2 {
		return false
	}
	for _, r := range info.Replicas {
		if !r.Current || r.Offline {
			return false
		}
	}
	return true
}
