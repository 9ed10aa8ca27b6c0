// Appends entries to a log that Tessera keeps in POSIX files: a number of writers, each of which waits until its entry is
// sequenced and integrated before it appends the next.
//
//	append-floor FOLDER WRITERS WARM-UP ENTRIES
//
// The entries are those that bench/log/append.ts appends. A batch is as large as the number of writers, so none waits for its
// time. Prints how many milliseconds the entries took that follow those of the warm-up.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/storage/posix"
	"golang.org/x/mod/sumdb/note"
)

// batchAge is how long the first of a batch waits for others, where there are fewer of them than writers.
const batchAge = 20 * time.Millisecond

func main() {
	elapsed, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "append-floor:", err)
		os.Exit(1)
	}
	fmt.Println(float64(elapsed.Microseconds()) / 1000)
}

func run() (time.Duration, error) {
	if len(os.Args) != 5 {
		return 0, fmt.Errorf("FOLDER WRITERS WARM-UP ENTRIES")
	}
	writers, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return 0, err
	}
	warmUp, err := strconv.ParseInt(os.Args[3], 10, 64)
	if err != nil {
		return 0, err
	}
	entries, err := strconv.ParseInt(os.Args[4], 10, 64)
	if err != nil {
		return 0, err
	}
	ctx := context.Background()
	appender, shutdown, err := open(ctx, os.Args[1], uint(writers))
	if err != nil {
		return 0, err
	}
	if _, err := appendAll(ctx, appender, writers, 0, warmUp); err != nil {
		return 0, err
	}
	elapsed, err := appendAll(ctx, appender, writers, warmUp, warmUp+entries)
	if err != nil {
		return 0, err
	}
	return elapsed, shutdown(ctx)
}

func open(ctx context.Context, folder string, writers uint) (*tessera.Appender, func(context.Context) error, error) {
	secret, _, err := note.GenerateKey(rand.Reader, "svc-log")
	if err != nil {
		return nil, nil, err
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		return nil, nil, err
	}
	driver, err := posix.New(ctx, posix.Config{Path: folder})
	if err != nil {
		return nil, nil, err
	}
	options := tessera.NewAppendOptions().WithCheckpointSigner(signer).WithBatching(writers, batchAge).
		WithPushback(2 * writers)
	appender, shutdown, _, err := tessera.NewAppender(ctx, driver, options)
	return appender, shutdown, err
}

func appendAll(ctx context.Context, appender *tessera.Appender, writers int, from, to int64) (time.Duration, error) {
	var next atomic.Int64
	next.Store(from)
	var group sync.WaitGroup
	failed := make(chan error, writers)
	started := time.Now()
	for range writers {
		group.Go(func() {
			for at := next.Add(1) - 1; at < to; at = next.Add(1) - 1 {
				if _, err := appender.Add(ctx, tessera.NewEntry(entry(at)))(); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	group.Wait()
	elapsed := time.Since(started)
	select {
	case err := <-failed:
		return 0, err
	default:
		return elapsed, nil
	}
}

func entry(at int64) []byte {
	leaf := sha256.Sum256(fmt.Appendf(nil, "seal %d", at))
	return fmt.Appendf(nil, `{"leaf":"sha256:%x","leaf_type":"seal","subject":"business-%d","v":1}`, leaf, at%100)
}
