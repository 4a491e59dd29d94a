package conclave

import (
	"encoding/json"
	"errors"
	"fmt"
)

// UnreachableError means that no agent responds at the address.
type UnreachableError struct {
	Agent string
	Err   error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no agent responds at %s: %v; check that the agent is running and that the address is right",
		e.Agent, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// RefusedError means that the agent responded with an error.
type RefusedError struct {
	// HTTP status of the response.
	Status int
	// Stable code, such as "NotLeader".
	Code    string
	Message string
	// The field or header that is wrong, if there is one.
	Field string
}

func (e *RefusedError) Error() string { return e.Message }

// Is compares codes, so that errors.Is(err, conclave.ErrNotLeader) works.
func (e *RefusedError) Is(target error) bool {
	other, ok := target.(*RefusedError)
	return ok && other.Status == 0 && other.Code == e.Code
}

// Refusals by their code, for errors.Is.
var (
	// This agent does not lead.
	ErrNotLeader error = &RefusedError{Code: "NotLeader"}
	// The claim has expired, the agent is ending its term, or there are too many claims.
	ErrClaimRefused error = &RefusedError{Code: "ClaimRefused"}
	// The agent has not given up its term within 10 s, because a claim holds it.
	ErrStillLeading error = &RefusedError{Code: "StillLeading"}
	// The admin token is missing or wrong.
	ErrInvalidAdminToken error = &RefusedError{Code: "InvalidAdminToken"}
	// The read token is missing or wrong.
	ErrInvalidReadToken error = &RefusedError{Code: "InvalidReadToken"}
	// The node named in the request cannot lead now, such as one that is unreachable.
	ErrCannotHandOver error = &RefusedError{Code: "CannotHandOver"}
	// The protocol does not allow the request.
	ErrCommandRefused error = &RefusedError{Code: "CommandRefused"}
	// The agent was started without an admin token.
	ErrAdminDisabled error = &RefusedError{Code: "AdminDisabled"}
	// The agent serves several groups, and the request names none.
	ErrGroupRequired error = &RefusedError{Code: "GroupRequired"}
	// The agent does not serve this group.
	ErrUnknownGroup error = &RefusedError{Code: "UnknownGroup"}
	// The group has no such node.
	ErrUnknownNode error = &RefusedError{Code: "UnknownNode"}
)

// ErrLeaseLost means that the term is over: the program must no longer act on it.
var ErrLeaseLost = errors.New("the term is over")

// refusal reads an error response. The body may be anything.
func (c *Client) refusal(status int, text []byte) error {
	var body struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
			Field   string `json:"field"`
		} `json:"error"`
	}
	_ = json.Unmarshal(text, &body)
	if body.Error.Code == "" {
		body.Error.Code = "Unknown"
	}
	if body.Error.Message == "" {
		body.Error.Message = fmt.Sprintf("HTTP status %d", status)
	}
	return &RefusedError{
		Status:  status,
		Code:    body.Error.Code,
		Message: fmt.Sprintf("the agent at %s refused the request: %s", c.agent, body.Error.Message),
		Field:   body.Error.Field,
	}
}
