module example.org/conclave

go 1.19
