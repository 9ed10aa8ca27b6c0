//go:build pinned

package main

// Pins the version of fsck that the tests build and run as it is.
import _ "github.com/transparency-dev/tessera/cmd/fsck"
