module example.org/worker

go 1.19

require example.org/conclave v0.0.0

replace example.org/conclave => ../../../clients/go
