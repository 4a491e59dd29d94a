//go:build !linux

package conclave

import "time"

// now is the clock of all deadlines.
func now() time.Duration { return time.Since(started) }

var started = time.Now()
