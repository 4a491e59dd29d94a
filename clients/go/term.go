package conclave

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"
)

// Reasons why the work of a term should end.
const (
	ReasonLost     = "lost"
	ReasonHandover = "handover"
	ReasonStopped  = "stopped"
)

// Term is one term of the agent, as long as it is claimed.
//
// The deadline is counted from before each request, on the clock of this process, so it never lies after the end of the
// agent's lease. One goroutine renews the claim. Another one watches the deadline, so that a request that hangs delays
// nothing.
type Term struct {
	Group string
	// The node that leads.
	Node ID
	// Send it with every request to a resource, and let the resource refuse a smaller one. Nil in local mode.
	Token *int64

	client         *Client
	claim          string
	margins        *margins
	exitAtDeadline bool
	// Done when the work should end.
	working     context.Context
	stopWorking context.CancelFunc
	// Done when the lease is lost.
	holding     context.Context
	stopHolding context.CancelFunc
	// Done when the work has returned.
	released     context.Context
	stopRenewing context.CancelFunc
	renewed      chan struct{}

	mutex    sync.Mutex
	deadline time.Duration
	// The margin of the agent's leases, and how long before the deadline the work is stopped: less while it is unclear
	// whether leases have become shorter.
	margin     margin
	stopBefore time.Duration
	reason     string
}

func newTerm(ctx context.Context, client *Client, first *claimed, deadline time.Duration) *Term {
	term := &Term{
		Group:    first.Group,
		Node:     first.ID,
		Token:    first.Token,
		client:   client,
		claim:    first.Claim,
		deadline: deadline,
		renewed:  make(chan struct{}, 1),
	}
	term.working, term.stopWorking = context.WithCancel(ctx)
	// Work that drains after ctx is done still needs its lease.
	term.holding, term.stopHolding = context.WithCancel(context.Background())
	term.released, term.stopRenewing = context.WithCancel(context.Background())
	return term
}

// begin starts to renew the claim. It returns false if the claim has expired: then the work must not begin.
func (t *Term) begin() bool {
	if t.Remaining() == 0 {
		return false
	}
	go t.guard()
	go t.renew()
	return true
}

// Context is done when the lease is lost. Unlike the context of the work it outlasts a request to stop, so that the work
// can end in order.
func (t *Term) Context() context.Context { return t.holding }

// Remaining is how long the program may act without asking again; 0 when the term is lost.
func (t *Term) Remaining() time.Duration {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.remaining()
}

func (t *Term) remaining() time.Duration {
	if t.holding.Err() != nil {
		return 0
	}
	if left := t.deadline - t.stopBefore - now(); left > 0 {
		return left
	}
	return 0
}

// Check returns ErrLeaseLost if the term is over. Call it right before each action.
func (t *Term) Check() error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.remaining() > 0 {
		return nil
	}
	t.lose()
	return ErrLeaseLost
}

// Reason tells why the work should end; empty before.
func (t *Term) Reason() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.reason == "" && t.working.Err() != nil {
		return ReasonStopped
	}
	return t.reason
}

// lose ends the term for ever: a renewal that arrives later does not revive it.
func (t *Term) lose() {
	t.stopHolding()
	t.setStopping(ReasonLost)
}

func (t *Term) setStopping(reason string) {
	if t.reason == "" && t.working.Err() == nil {
		t.reason = reason
	}
	t.stopWorking()
}

// guard ends the term in time.
func (t *Term) guard() {
	for {
		left := t.Remaining()
		if left == 0 {
			break
		}
		timer := time.NewTimer(left)
		select {
		case <-t.released.Done():
			timer.Stop()
			return
		case <-t.renewed:
		case <-timer.C:
		}
		timer.Stop()
	}
	t.mutex.Lock()
	t.lose()
	left := t.deadline - t.stopBefore/4 - now()
	t.mutex.Unlock()
	if t.exitAtDeadline && pause(t.released, left) {
		os.Exit(exitLost)
	}
}

func (t *Term) renew() {
	defer func() {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		t.lose()
	}()
	for {
		wait := t.Remaining() / renewalsPerClaim
		if wait < minPause {
			wait = minPause
		}
		if !pause(t.released, wait) {
			return
		}
		t.mutex.Lock()
		left, deadline := t.remaining(), t.deadline
		t.mutex.Unlock()
		if left == 0 {
			return
		}
		before := now()
		answer, err := t.client.sendClaim(t.released, &t.claim, deadline-before)
		if !t.handle(answer, err, before) {
			return
		}
		if err == nil {
			t.readMargin(milliseconds(*answer.ExpiresInMs))
		}
	}
}

// handle returns false when the claim is over.
func (t *Term) handle(answer *claimed, err error, before time.Duration) bool {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return refused.Status == http.StatusServiceUnavailable
	}
	if err != nil {
		// Without an answer, try again while the claim lasts.
		return t.released.Err() == nil
	}
	if !sameToken(answer.Token, t.Token) {
		return false
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.remaining() == 0 {
		return false
	}
	left := milliseconds(*answer.ExpiresInMs)
	t.deadline = before + left
	// If less is left than at any renewal, the lease was not renewed in time, or leases have become shorter. readMargin
	// finds out; until then the work is stopped by what is left.
	if left < t.margin.left {
		t.stopBefore = shorter(t.stopBefore, t.margins.limit(left))
	}
	if answer.Ending {
		t.setStopping(ReasonHandover)
	}
	t.wakeGuard()
	return true
}

// readMargin adjusts the margin to leases that have become shorter. If they have not, the margin stays as it was.
func (t *Term) readMargin(left time.Duration) {
	if left >= t.margin.left {
		return
	}
	read, err := t.margins.read(t.released, longer(time.Millisecond, t.Remaining()))
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if err == nil {
		t.margin = read
	}
	t.stopBefore = t.margin.stopBefore
	t.wakeGuard()
}

func (t *Term) wakeGuard() {
	select {
	case t.renewed <- struct{}{}:
	default:
	}
}

func sameToken(a, b *int64) bool {
	return (a == nil && b == nil) || (a != nil && b != nil && *a == *b)
}

// release ends the claim after the work has returned. If the request is lost, the claim expires.
func (t *Term) release() {
	t.stopRenewing()
	query := url.Values{"claim": {t.claim}}
	asked := request{method: http.MethodDelete, path: "/v1/claim", query: query, isAdmin: true, timeout: releaseTimeout}
	var ignored struct{}
	_ = t.client.send(context.Background(), asked, &ignored)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.lose()
}
