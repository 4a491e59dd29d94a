// Drives the Go client for the tests. Prints one JSON object per line; worker.py prints the same.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unsafe"

	"example.org/conclave"
)

const step = 20 * time.Millisecond

type fields map[string]any

func say(what fields) {
	text, _ := json.Marshal(what)
	fmt.Println(string(text))
}

// monotonic reads CLOCK_MONOTONIC, which all processes of the machine share.
func monotonic() int64 {
	var read syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&read)), 0)
	return read.Nano()
}

func lead(ctx context.Context, client *conclave.Client, stubborn bool) error {
	options := conclave.LeadOptions{ExitAtDeadline: stubborn}
	err := client.Lead(ctx, options, func(ctx context.Context, term *conclave.Term) error {
		say(fields{"event": "began", "token": term.Token, "node": term.Node})
		for stubborn {
			time.Sleep(step)
		}
		for ctx.Err() == nil {
			at := monotonic()
			if term.Check() != nil {
				break
			}
			say(fields{"event": "acted", "token": term.Token, "at": at})
			time.Sleep(step)
		}
		say(fields{"event": "ended", "token": term.Token, "reason": term.Reason(), "held": term.Remaining() > 0})
		return conclave.ErrLeaseLost
	})
	if errors.Is(err, context.Canceled) {
		say(fields{"event": "stopped"})
		return nil
	}
	return err
}

func leader(ctx context.Context, client *conclave.Client) error {
	known, err := client.Leader(ctx)
	if err != nil {
		return err
	}
	said := fields{"leader": nil, "token": nil, "role": known.Self.Role}
	if known.Leader != nil {
		said["leader"], said["token"] = known.Leader.ID, known.Leader.Token
	}
	say(said)
	return nil
}

func stepDown(ctx context.Context, client *conclave.Client, to string) error {
	done, err := client.StepDown(ctx, conclave.ID(to))
	if err != nil {
		return err
	}
	say(fields{"id": done.ID, "token": done.Token, "to": done.To})
	return nil
}

func watch(ctx context.Context, client *conclave.Client) error {
	return client.Watch(ctx, "", func(event conclave.Event) error {
		var id any
		if event.ID != "" {
			id = event.ID
		}
		say(fields{"event": event.Type, "id": id})
		return nil
	})
}

func main() {
	what := os.Args[1]
	var options conclave.Options
	flags := flag.NewFlagSet(what, flag.ExitOnError)
	flags.StringVar(&options.Agent, "agent", "", "")
	flags.StringVar(&options.Group, "group", "", "")
	flags.StringVar(&options.AdminToken, "admin-token", "", "")
	flags.StringVar(&options.ReadToken, "read-token", "", "")
	flags.StringVar(&options.CAFile, "ca-file", "", "")
	flags.StringVar(&options.CertFile, "cert-file", "", "")
	flags.StringVar(&options.KeyFile, "key-file", "", "")
	to := flags.String("to", "", "")
	stubborn := flags.Bool("stubborn", false, "")
	_ = flags.Parse(os.Args[2:])
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	client, err := conclave.New(options)
	if err == nil {
		switch what {
		case "lead":
			err = lead(ctx, client, *stubborn)
		case "watch":
			err = watch(ctx, client)
		case "leader":
			err = leader(ctx, client)
		case "step-down":
			err = stepDown(ctx, client, *to)
		}
	}
	var refused *conclave.RefusedError
	switch {
	case errors.As(err, &refused):
		say(fields{"error": refused.Code, "status": refused.Status})
	case err != nil:
		say(fields{"error": "unreachable", "message": err.Error()})
	default:
		return
	}
	os.Exit(1)
}
