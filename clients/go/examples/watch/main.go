package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"example.org/conclave"
)

func main() {
	client, err := conclave.New(conclave.Options{Agent: os.Getenv("CONCLAVE_AGENT")})
	if err != nil {
		log.Fatal(err)
	}
	err = client.Watch(context.Background(), "", func(event conclave.Event) error {
		fmt.Println(event.Type)
		return nil
	})
	log.Fatal(err)
}
