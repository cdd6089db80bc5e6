package natsstore_test

import (
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// operator signs the accounts and the users of servers in operator mode.
type operator struct {
	t               *testing.T
	claims          *jwt.OperatorClaims
	key             nkeys.KeyPair
	account, system nkeys.KeyPair
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	o := &operator{t: t}
	o.key, o.account, o.system = o.pair(nkeys.CreateOperator), o.pair(nkeys.CreateAccount), o.pair(nkeys.CreateAccount)
	o.claims = jwt.NewOperatorClaims(o.public(o.key))
	o.claims.SystemAccount = o.public(o.system)
	o.encode(o.claims, o.key)
	return o
}

// user returns a user of the account, and its credentials as a file has them.
func (o *operator) user() (id, creds string) {
	o.t.Helper()
	key := o.pair(nkeys.CreateUser)
	claims := jwt.NewUserClaims(o.public(key))
	seed, err := key.Seed()
	if err != nil {
		o.t.Fatal(err)
	}
	file, err := jwt.FormatUserConfig(o.encode(claims, o.account), seed)
	if err != nil {
		o.t.Fatal(err)
	}
	return claims.Subject, string(file)
}

// server returns the options of a server that refuses some users.
func (o *operator) server(refused ...string) server.Options {
	o.t.Helper()
	account := jwt.NewAccountClaims(o.public(o.account))
	account.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	for _, id := range refused {
		account.RevokeAt(id, time.Now().Add(time.Hour))
	}
	resolver := new(server.MemAccResolver)
	for _, claims := range []*jwt.AccountClaims{account, jwt.NewAccountClaims(o.public(o.system))} {
		if err := resolver.Store(claims.Subject, o.encode(claims, o.key)); err != nil {
			o.t.Fatal(err)
		}
	}
	return server.Options{TrustedOperators: []*jwt.OperatorClaims{o.claims}, AccountResolver: resolver, SystemAccount: o.public(o.system)}
}

func (o *operator) pair(create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	o.t.Helper()
	key, err := create()
	if err != nil {
		o.t.Fatal(err)
	}
	return key
}

func (o *operator) public(key nkeys.KeyPair) string {
	o.t.Helper()
	id, err := key.PublicKey()
	if err != nil {
		o.t.Fatal(err)
	}
	return id
}

func (o *operator) encode(claims jwt.Claims, by nkeys.KeyPair) string {
	o.t.Helper()
	text, err := claims.Encode(by)
	if err != nil {
		o.t.Fatal(err)
	}
	return text
}
