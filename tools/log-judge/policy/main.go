// Command policy judges a checkpoint by a policy file (C2SP tlog-policy) with the code of filippo.io/torchwood.
//
//	policy POLICY-FILE CHECKPOINT-FILE
//
// Prints the origin of the checkpoint, or ends with status 1 and says why.
package main

import (
	"fmt"
	"os"

	"filippo.io/torchwood"
)

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("POLICY-FILE CHECKPOINT-FILE"))
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail(err)
	}
	checkpoint, err := os.ReadFile(os.Args[2])
	if err != nil {
		fail(err)
	}
	policy, err := torchwood.ParsePolicy(text)
	if err != nil {
		fail(err)
	}
	read, _, err := torchwood.VerifyCheckpoint(checkpoint, policy)
	if err != nil {
		fail(err)
	}
	fmt.Println(read.Origin)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "policy:", err)
	os.Exit(1)
}
