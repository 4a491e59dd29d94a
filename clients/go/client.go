// Package conclave is a client for a Conclave agent: ask for the leader, watch events, and act only while the agent
// leads. It uses nothing but the standard library.
package conclave

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	maxBody        = 16 << 20
	defaultTimeout = 2 * time.Second
	// Longer than the 10 s that an agent waits for the claims of other processes.
	stepDownTimeout = 12 * time.Second
)

// Options of a Client. The zero value asks http://127.0.0.1:7480.
type Options struct {
	// URL of the agent.
	Agent string
	// Required if the agent serves several groups.
	Group string
	// Needed by Lead and StepDown.
	AdminToken string
	// For an agent that asks for a token also to read.
	ReadToken string
	// Certificates (PEM) to trust instead of those of the system; only with https.
	CAFile string
	// Certificate and key of this client, for an agent that asks for one.
	CertFile, KeyFile string
	// Limit for one request; 2 s if zero.
	Timeout time.Duration
}

// Client asks one agent. It is safe for concurrent use.
type Client struct {
	agent   string
	group   string
	admin   string
	read    string
	timeout time.Duration
	http    *http.Client
}

// New returns a client. It sends nothing.
func New(options Options) (*Client, error) {
	agent := options.Agent
	if agent == "" {
		agent = "http://127.0.0.1:7480"
	}
	parsed, err := url.Parse(agent)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return nil, fmt.Errorf("agent: must be a URL such as http://127.0.0.1:7480, not %q", agent)
	}
	config, err := tlsConfig(options, parsed.Scheme)
	if err != nil {
		return nil, err
	}
	timeout := options.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	read := options.ReadToken
	if read == "" {
		read = options.AdminToken
	}
	return &Client{
		agent:   strings.TrimRight(agent, "/"),
		group:   options.Group,
		admin:   options.AdminToken,
		read:    read,
		timeout: timeout,
		http: &http.Client{
			// No proxy, no redirect: a token must reach the agent and no other server.
			Transport: &http.Transport{
				DialContext:         (&net.Dialer{Timeout: timeout}).DialContext,
				TLSHandshakeTimeout: timeout,
				TLSClientConfig:     config,
				IdleConnTimeout:     2 * time.Second,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func tlsConfig(options Options, scheme string) (*tls.Config, error) {
	if scheme != "https" {
		if options.CAFile != "" || options.CertFile != "" || options.KeyFile != "" {
			return nil, errors.New("CAFile, CertFile and KeyFile need an agent with https")
		}
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if options.CAFile != "" {
		pem, err := os.ReadFile(options.CAFile)
		if err != nil {
			return nil, fmt.Errorf("CAFile: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CAFile: %s contains no certificate", options.CAFile)
		}
	}
	if options.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(options.CertFile, options.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("CertFile: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// ID of a node. Agents send a string or a number; a number is kept as its digits.
type ID string

// UnmarshalJSON accepts a string or a number.
func (id *ID) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		*id = ID(text)
		return nil
	}
	var number json.Number
	if err := json.Unmarshal(data, &number); err != nil {
		return err
	}
	*id = ID(number.String())
	return nil
}

// Leader of a group.
type Leader struct {
	ID ID `json:"id"`
	// Fencing token of the term. Nil in local mode.
	Token *int64 `json:"token"`
	// Milliseconds until the lease expires unless the leader renews it. Nil under a protocol without leases.
	ExpiresInMs *float64 `json:"expiresInMs"`
}

// Leadership is what an agent knows of the leader.
type Leadership struct {
	Group string `json:"group"`
	// Nil while the agent knows of no leader.
	Leader *Leader `json:"leader"`
	// The agent's own node. To act on its role, use Lead.
	Self struct {
		ID   ID     `json:"id"`
		Role string `json:"role"`
	} `json:"self"`
}

// Leader returns the leader that the agent knows.
func (c *Client) Leader(ctx context.Context) (*Leadership, error) {
	var answer Leadership
	if err := c.send(ctx, request{method: http.MethodGet, path: "/v1/leader"}, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// Status returns the condition of the group: the body of /v1/status.
func (c *Client) Status(ctx context.Context) (json.RawMessage, error) {
	var answer json.RawMessage
	err := c.send(ctx, request{method: http.MethodGet, path: "/v1/status"}, &answer)
	return answer, err
}

// SteppedDown is the term that StepDown ended.
type SteppedDown struct {
	ID    ID     `json:"id"`
	Token *int64 `json:"token"`
	// The node in whose favour it stepped down; empty if the request named none.
	To ID `json:"-"`
}

// StepDown ends the term of the agent; with a non-empty `to`, in favour of that node. The error is ErrNotLeader if the
// agent does not lead.
func (c *Client) StepDown(ctx context.Context, to ID) (*SteppedDown, error) {
	var answer struct {
		SteppedDown SteppedDown `json:"steppedDown"`
		To          *ID         `json:"to"`
	}
	asked := request{method: http.MethodPost, path: "/v1/step-down", isAdmin: true, timeout: stepDownTimeout}
	if to != "" {
		asked.body = map[string]any{"to": to}
	}
	if err := c.send(ctx, asked, &answer); err != nil {
		return nil, err
	}
	if answer.To != nil {
		answer.SteppedDown.To = *answer.To
	}
	return &answer.SteppedDown, nil
}

type request struct {
	method  string
	path    string
	query   url.Values
	body    any
	isAdmin bool
	// Of the client if zero.
	timeout time.Duration
}

func (c *Client) prepare(ctx context.Context, asked request) (*http.Request, error) {
	var body io.Reader
	if asked.body != nil {
		data, err := json.Marshal(asked.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	made, err := http.NewRequestWithContext(ctx, asked.method, c.agent+asked.path, body)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	for name, values := range asked.query {
		query[name] = values
	}
	if c.group != "" {
		query.Set("group", c.group)
	}
	made.URL.RawQuery = query.Encode()
	token := c.read
	if asked.isAdmin {
		token = c.admin
	}
	if token != "" {
		made.Header.Set("Authorization", "Bearer "+token)
	}
	if asked.body != nil {
		made.Header.Set("Content-Type", "application/json")
	}
	return made, nil
}

// send sends a request and reads the JSON body of the response into `answer`.
func (c *Client) send(ctx context.Context, asked request, answer any) error {
	timeout := asked.timeout
	if timeout == 0 {
		timeout = c.timeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	made, err := c.prepare(limited, asked)
	if err != nil {
		return err
	}
	response, err := c.http.Do(made)
	if err != nil {
		return c.failure(ctx, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return c.failure(ctx, err)
	}
	if response.StatusCode >= 300 {
		return c.refusal(response.StatusCode, text)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return &UnreachableError{Agent: c.agent, Err: fmt.Errorf("this is not a Conclave agent: %w", err)}
	}
	return nil
}

// failure gives callers the error of their own context back.
func (c *Client) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &UnreachableError{Agent: c.agent, Err: err}
}
