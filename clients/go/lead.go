package conclave

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

const (
	retryDelay     = 200 * time.Millisecond
	pollInterval   = time.Second
	releaseTimeout = 500 * time.Millisecond
	exitLost       = 7
)

// LeadOptions change how Lead ends the work. The zero value suits most programs.
type LeadOptions struct {
	// How long before the deadline the work is stopped. By default half of what remains of the shortest lease at
	// its renewal.
	StopBefore time.Duration
	// End this process with code 7 if the work still runs shortly before the deadline.
	ExitAtDeadline bool
}

// Lead runs `work` in each term of the agent, until it returns in a term that was not to be ended, or returns an error
// other than ErrLeaseLost and context.Canceled. Lead then returns that error. It returns ctx.Err() when ctx is done.
//
// The context of the work is canceled when the work should end: ctx is done, the lease is about to expire, or the agent
// wants to hand over. The claim is renewed until the work has returned, and released then.
func (c *Client) Lead(ctx context.Context, options LeadOptions, work func(context.Context, *Term) error) error {
	for {
		term, err := c.waitForTerm(ctx, options)
		if err != nil {
			return err
		}
		err = work(term.working, term)
		isOver := term.working.Err() != nil
		term.release()
		isStopped := errors.Is(err, ErrLeaseLost) || errors.Is(err, context.Canceled)
		if err != nil && !isStopped {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !isOver && !isStopped {
			return nil
		}
	}
}

// waitForTerm claims the term of the agent as soon as it leads.
func (c *Client) waitForTerm(ctx context.Context, options LeadOptions) (*Term, error) {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	elected := make(chan struct{}, 1)
	go c.followElections(watching, elected)
	from := &margins{client: c, asked: options.StopBefore}
	for {
		wait := pollInterval
		var term *Term
		// Each time: leases may have become shorter while the agent did not lead.
		first, err := from.read(ctx, c.timeout)
		if err == nil {
			term, err = c.claim(ctx, first, from, options.ExitAtDeadline)
		}
		if err == nil && term != nil {
			return term, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var unreachable *UnreachableError
		var refused *RefusedError
		switch {
		case err == nil, errors.As(err, &unreachable):
			wait = retryDelay
		case errors.As(err, &refused) && (refused.Status == http.StatusConflict ||
			refused.Status == http.StatusServiceUnavailable):
			// Not the leader, or busy.
		default:
			return nil, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-elected:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// followElections reports when the agent may lead. If the stream is refused, Lead still asks once per second.
func (c *Client) followElections(ctx context.Context, elected chan<- struct{}) {
	_ = c.Watch(ctx, "", func(event Event) error {
		mayLead := event.Type == "elected"
		if event.Type == "snapshot" {
			var snapshot Leadership
			mayLead = json.Unmarshal(event.Data, &snapshot) == nil && snapshot.Self.Role == "leader"
		}
		if mayLead {
			select {
			case elected <- struct{}{}:
			default:
			}
		}
		return nil
	})
}

type claimed struct {
	Group       string   `json:"group"`
	ID          ID       `json:"id"`
	Claim       string   `json:"claim"`
	Token       *int64   `json:"token"`
	ExpiresInMs *float64 `json:"expiresInMs"`
	Ending      bool     `json:"ending"`
}

// claim returns no term if too little of the lease is left.
func (c *Client) claim(ctx context.Context, first margin, from *margins, exitAtDeadline bool) (*Term, error) {
	before := now()
	answer, err := c.sendClaim(ctx, nil, c.timeout)
	if err != nil {
		return nil, err
	}
	term := newTerm(ctx, c, answer, before+milliseconds(*answer.ExpiresInMs))
	term.margin, term.margins, term.stopBefore = first, from, first.stopBefore
	term.exitAtDeadline = exitAtDeadline
	if term.begin() {
		return term, nil
	}
	term.release()
	return nil, nil
}

func (c *Client) sendClaim(ctx context.Context, claim *string, timeout time.Duration) (*claimed, error) {
	var answer claimed
	asked := request{
		method:  http.MethodPost,
		path:    "/v1/claim",
		body:    map[string]*string{"claim": claim},
		isAdmin: true,
		timeout: timeout,
	}
	if err := c.send(ctx, asked, &answer); err != nil {
		return nil, err
	}
	if answer.ExpiresInMs == nil || answer.Claim == "" {
		return nil, &UnreachableError{Agent: c.agent, Err: errors.New("this is not a Conclave agent")}
	}
	return &answer, nil
}

func milliseconds(value float64) time.Duration {
	return time.Duration(value * float64(time.Millisecond))
}
