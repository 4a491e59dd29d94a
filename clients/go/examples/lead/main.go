package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.org/conclave"
)

func main() {
	token, err := os.ReadFile(os.Getenv("CONCLAVE_ADMIN_TOKEN_FILE"))
	if err != nil {
		log.Fatal(err)
	}
	client, err := conclave.New(conclave.Options{
		Agent:      os.Getenv("CONCLAVE_AGENT"),
		AdminToken: string(bytes.TrimSpace(token)),
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err = client.Lead(ctx, conclave.LeadOptions{}, work)
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func work(ctx context.Context, term *conclave.Term) error {
	for step := 1; ; step++ {
		select {
		case <-ctx.Done(): // the work should end
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if err := term.Check(); err != nil { // ErrLeaseLost when the term is over
			return err
		}
		write(step, *term.Token)
	}
}

func write(step int, token int64) {
	fmt.Printf("step %d with token %d\n", step, token) // your resource refuses a smaller token
}
