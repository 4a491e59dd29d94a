package conclave

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"
)

const (
	renewalsPerClaim  = 8
	minPause          = 5 * time.Millisecond
	stopBeforeDivisor = 2
)

// margin says how long before the end of a lease the work is stopped.
type margin struct {
	// What remains, at its renewal, of the shortest lease that the agent may have.
	left       time.Duration
	stopBefore time.Duration
}

// margins reads the length of leases from the agent. Leases that tune themselves become longer and shorter.
type margins struct {
	client *Client
	// 0: the default.
	asked     time.Duration
	isChecked bool
}

func (m *margins) read(ctx context.Context, timeout time.Duration) (margin, error) {
	var status struct {
		Lease *struct {
			LengthMs float64 `json:"lengthMs"`
			MarginMs float64 `json:"marginMs"`
		} `json:"lease"`
		Timing *struct {
			LeaseMinMs float64 `json:"leaseMinMs"`
		} `json:"timing"`
	}
	asked := request{method: http.MethodGet, path: "/v1/status", timeout: timeout}
	if err := m.client.send(ctx, asked, &status); err != nil {
		return margin{}, err
	}
	if status.Lease == nil {
		return margin{}, &UnreachableError{Agent: m.client.agent, Err: errors.New("this is not a Conclave agent")}
	}
	marginMs := status.Lease.MarginMs
	if status.Timing != nil && status.Lease.LengthMs > 0 {
		// The margin is the same part of each lease.
		marginMs *= math.Min(1, status.Timing.LeaseMinMs/status.Lease.LengthMs)
	}
	left := milliseconds(marginMs)
	if most := longest(left); !m.isChecked && (m.asked < 0 || m.asked > most) {
		return margin{}, fmt.Errorf(
			"StopBefore: must be at most %v, because as little as %v of a lease can remain at its renewal", most, left)
	}
	m.isChecked = true
	return margin{left: left, stopBefore: m.limit(left)}, nil
}

// limit is StopBefore for leases of which `left` remains at renewal. More would stop the work at every renewal.
func (m *margins) limit(left time.Duration) time.Duration {
	most := longest(left)
	if m.asked == 0 {
		return most / stopBeforeDivisor
	}
	return shorter(m.asked, most)
}

// longest: this process learns of a renewed lease only when it renews its claim.
func longest(left time.Duration) time.Duration {
	return longer(0, left-longer(minPause, left/renewalsPerClaim))
}

func shorter(one, other time.Duration) time.Duration {
	if one < other {
		return one
	}
	return other
}

func longer(one, other time.Duration) time.Duration {
	if one > other {
		return one
	}
	return other
}
