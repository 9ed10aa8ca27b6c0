module svc/second-verifier

go 1.26.0

require filippo.io/mldsa v1.0.0
