//go:build pinned

package main

// Pins the versions of the programs that the tests build and run as they are.
import (
	_ "github.com/transparency-dev/tessera/cmd/examples/posix-oneshot"
	_ "github.com/transparency-dev/tessera/cmd/fsck"
)
