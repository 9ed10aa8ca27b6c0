package main

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"sync"
)

// judgedFile is the report on an evidence file. One of format 2 is valid only if every check could be made.
func judgedFile(a *anchors, file []byte, in object) object {
	found := reported(evidence(a, file, in))
	value, _ := parseJSON(file)
	if given, ok := value.(object); ok && given["format"] == "svc-evidence/2" {
		for _, outcome := range sub(found, "checks") {
			found["valid"] = found["valid"] == true && outcome == "ok"
		}
	}
	return found
}

type flipped struct {
	Valid    bool  `json:"valid"`
	Changed  int   `json:"changed"`
	Accepted []int `json:"accepted"`
}

// flip judges a file, and then the same with every `step`th of its bytes, from the `first` one on, changed in one bit.
func flip(anchorsPath, path string, first, step int) (*flipped, error) {
	pinned, err := os.ReadFile(anchorsPath)
	if err != nil {
		return nil, err
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	value, _ := parseJSON(pinned)
	a, reason := readAnchors(value)
	if reason != "" {
		return nil, errors.New("no anchors: " + string(reason))
	}
	report := &flipped{Valid: judgedFile(a, file, nil)["valid"] == true, Accepted: []int{}}
	var lock sync.Mutex
	var done sync.WaitGroup
	workers := runtime.NumCPU()
	for worker := range workers {
		done.Go(func() {
			other := bytes.Clone(file)
			changed := 0
			for at := first + worker*step; at < len(file); at += workers * step {
				changed++
				other[at] = file[at] ^ 1<<(at%6)
				if judgedFile(a, other, nil)["valid"] == true {
					lock.Lock()
					report.Accepted = append(report.Accepted, at)
					lock.Unlock()
				}
				other[at] = file[at]
			}
			lock.Lock()
			report.Changed += changed
			lock.Unlock()
		})
	}
	done.Wait()
	return report, nil
}
