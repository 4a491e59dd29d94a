package conclave

import (
	"syscall"
	"time"
	"unsafe"
)

const clockBoottime = 7

// now is the clock of all deadlines. Go's own monotonic clock stands still while the host is suspended, and a lease that
// expired in that time would look valid afterwards. CLOCK_BOOTTIME does not stand still.
func now() time.Duration {
	var read syscall.Timespec
	_, _, failed := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&read)), 0)
	if failed != 0 {
		// Never of use together with CLOCK_BOOTTIME: the call fails always or never.
		return time.Since(started)
	}
	return time.Duration(read.Nano())
}

var started = time.Now()
