package conclave

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// The agent sends something at least every 10 s.
	silence    = 30 * time.Second
	firstDelay = 100 * time.Millisecond
	maxDelay   = 5 * time.Second
)

// Event of an agent.
type Event struct {
	// "snapshot" after each connection, "missed" if events are lost, else the name of the event.
	Type string
	// Empty for events without an id.
	ID   string
	Data json.RawMessage
}

// Watch calls `handle` for each event from now on, or since the event with the id `after`. After an interruption it
// connects again and asks for the events since the last one. It returns when ctx is done, when handle returns an error,
// or when the agent refuses the request.
func (c *Client) Watch(ctx context.Context, after string, handle func(Event) error) error {
	stream := &stream{client: c, lastID: after, handle: handle}
	delay := firstDelay
	for {
		stream.events = 0
		err := stream.read(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var stopped *handlerError
		if errors.As(err, &stopped) {
			return stopped.err
		}
		var refused *RefusedError
		if errors.As(err, &refused) && refused.Status != http.StatusServiceUnavailable {
			return err
		}
		if stream.events > 0 {
			delay = firstDelay
		}
		// Jitter: the watchers of an agent that restarts do not all return at one moment.
		if !pause(ctx, delay/2+time.Duration(rand.Int63n(int64(delay/2)+1))) {
			return ctx.Err()
		}
		if delay *= 2; delay > maxDelay {
			delay = maxDelay
		}
	}
}

// pause returns false if ctx is done first.
func pause(ctx context.Context, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

type handlerError struct{ err error }

func (e *handlerError) Error() string { return e.err.Error() }

type stream struct {
	client *Client
	lastID string
	events int
	handle func(Event) error
}

// read reads one connection until it breaks.
func (s *stream) read(ctx context.Context) error {
	connected, cancel := context.WithCancel(ctx)
	defer cancel()
	made, err := s.client.prepare(connected, request{
		method: http.MethodGet,
		path:   "/v1/events",
		query:  url.Values{"only": {"events"}},
	})
	if err != nil {
		return err
	}
	made.Header.Set("Accept", "text/event-stream")
	if s.lastID != "" {
		made.Header.Set("Last-Event-ID", s.lastID)
	}
	alive := time.AfterFunc(s.client.timeout, cancel)
	defer alive.Stop()
	response, err := s.client.http.Do(made)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxBody))
		return s.client.refusal(response.StatusCode, text)
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "text/event-stream" {
		return fmt.Errorf("the response is %q", kind)
	}
	alive.Reset(silence)
	return s.parse(response.Body, func() { alive.Reset(silence) })
}

func (s *stream) parse(body io.Reader, heard func()) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxBody)
	lines.Split(completeLines)
	var event Event
	var data []string
	for lines.Scan() {
		heard()
		line := strings.TrimSuffix(lines.Text(), "\r")
		if line == "" {
			if err := s.dispatch(event, data); err != nil {
				return err
			}
			event, data = Event{}, nil
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			event.Type = value
		case "id":
			event.ID = value
		case "data":
			data = append(data, value)
		}
	}
	return lines.Err()
}

// completeLines drops a last line without its end: the connection broke within it.
func completeLines(data []byte, _ bool) (int, []byte, error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end], nil
	}
	return 0, nil, nil
}

// dispatch ignores a block without data, such as a keep-alive comment.
func (s *stream) dispatch(event Event, data []string) error {
	if len(data) == 0 {
		return nil
	}
	event.Data = json.RawMessage(strings.Join(data, "\n"))
	if !json.Valid(event.Data) {
		return errors.New("the data of an event is not JSON")
	}
	if event.Type == "" {
		event.Type = "message"
	}
	if event.ID != "" {
		s.lastID = event.ID
	}
	s.events++
	if err := s.handle(event); err != nil {
		return &handlerError{err}
	}
	return nil
}
