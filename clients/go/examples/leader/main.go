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
	known, err := client.Leader(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if known.Leader == nil {
		fmt.Println("there is no leader")
		return
	}
	fmt.Printf("%s leads with token %d\n", known.Leader.ID, *known.Leader.Token)
}
