// Judges a transparency log over HTTP with the code that Go's checksum database client is made of: golang.org/x/mod/sumdb/note
// reads and verifies the checkpoint, golang.org/x/mod/sumdb/tlog authenticates the tiles, every entry and every proof that the
// log serves. Only the paths of tiles and the format of a checkpoint's text are read here, since C2SP tlog-tiles has
// others than the checksum database.
//
//	log-judge URL ORIGIN VERIFIER-KEY [CHECKPOINT-FILE ...]
//
// Each file is a checkpoint that was stored earlier. Prints one line of JSON, or ends with status 1 and says why.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	tileHeight   = 8
	tileWidth    = 1 << tileHeight
	answerMax    = 1 << 25
	provenLeaves = 64
)

func main() {
	if len(os.Args) < 4 {
		fail(errors.New("URL ORIGIN VERIFIER-KEY [CHECKPOINT-FILE ...]"))
	}
	judged, err := judge(strings.TrimSuffix(os.Args[1], "/"), os.Args[2], os.Args[3], os.Args[4:])
	if err != nil {
		fail(err)
	}
	fmt.Println(judged)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "log-judge:", err)
	os.Exit(1)
}

func judge(url, origin, key string, stored []string) (string, error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return "", fmt.Errorf("verifier key: %w", err)
	}
	text, err := get(url + "/checkpoint")
	if err != nil {
		return "", err
	}
	tree, err := readCheckpoint(text, origin, verifier)
	if err != nil {
		return "", err
	}
	hashes := tlog.TileHashReader(tree, &tiles{url: url})
	leaves, err := readEntries(url, tree, hashes)
	if err != nil {
		return "", err
	}
	root, err := tlog.TreeHash(tree.N, hashes)
	if err != nil {
		return "", err
	}
	if root != tree.Hash {
		return "", errors.New("the tiles have another root than the checkpoint")
	}
	proofs, err := judgeInclusion(url, origin, verifier, hashes, leaves)
	if err != nil {
		return "", err
	}
	for _, path := range stored {
		if err := judgeConsistency(url, origin, verifier, tree, hashes, path); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
	}
	out, err := json.Marshal(map[string]int{"leaves": len(leaves), "inclusion": proofs, "consistency": len(stored)})
	return string(out), err
}

// readCheckpoint verifies a signed note and reads its text: the origin, the size and the root.
func readCheckpoint(text []byte, origin string, verifier note.Verifier) (tlog.Tree, error) {
	opened, err := note.Open(text, note.VerifierList(verifier))
	if err != nil {
		return tlog.Tree{}, fmt.Errorf("checkpoint: %w", err)
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) < 4 || lines[0] != origin {
		return tlog.Tree{}, errors.New("checkpoint: not of this log")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return tlog.Tree{}, fmt.Errorf("checkpoint: %w", err)
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return tlog.Tree{}, errors.New("checkpoint: not a root")
	}
	return tlog.Tree{N: size, Hash: tlog.Hash(root)}, nil
}

// tiles reads hash tiles as C2SP tlog-tiles names them.
type tiles struct{ url string }

func (t *tiles) Height() int { return tileHeight }

func (t *tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (t *tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	read := make([][]byte, len(wanted))
	for i, tile := range wanted {
		// tile/H/L/K in the checksum database is tile/L/K in tlog-tiles.
		data, err := get(t.url + "/" + strings.Replace(tile.Path(), "tile/8/", "tile/", 1))
		if err != nil {
			return nil, err
		}
		read[i] = data
	}
	return read, nil
}

type leaf struct {
	index int64
	hash  tlog.Hash
	entry []byte
}

// readEntries reads every entry and compares its hash to that of the tree.
func readEntries(url string, tree tlog.Tree, hashes tlog.HashReader) ([]leaf, error) {
	var leaves []leaf
	for first := int64(0); first < tree.N; first += tileWidth {
		width := min(tree.N-first, tileWidth)
		tile := tlog.Tile{H: tileHeight, L: 0, N: first / tileWidth, W: int(width)}
		data, err := get(url + "/" + strings.Replace(tile.Path(), "tile/8/0/", "tile/entries/", 1))
		if err != nil {
			return nil, err
		}
		for index := first; index < first+width; index++ {
			if len(data) < 2 || len(data)-2 < int(binary.BigEndian.Uint16(data)) {
				return nil, fmt.Errorf("entry %d is cut off", index)
			}
			length := int(binary.BigEndian.Uint16(data))
			entry := data[2 : 2+length]
			data = data[2+length:]
			known, err := hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, index)})
			if err != nil {
				return nil, err
			}
			if tlog.RecordHash(entry) != known[0] {
				return nil, fmt.Errorf("entry %d is not what the tree contains", index)
			}
			leaves = append(leaves, leaf{index, known[0], bytes.Clone(entry)})
		}
		if len(data) != 0 {
			return nil, errors.New("a bundle has bytes behind its entries")
		}
	}
	return leaves, nil
}

type proofAnswer struct {
	LeafIndex  int64    `json:"leaf_index"`
	TreeSize   int64    `json:"tree_size"`
	Proof      []string `json:"proof"`
	Checkpoint string   `json:"checkpoint"`
}

// judgeInclusion checks proofs that the log serves, of entries spread over the whole tree.
func judgeInclusion(url, origin string, verifier note.Verifier, hashes tlog.HashReader, leaves []leaf) (int, error) {
	step := max(len(leaves)/provenLeaves, 1)
	proofs := 0
	for at := 0; at < len(leaves); at += step {
		var entry struct {
			Leaf string `json:"leaf"`
		}
		if err := json.Unmarshal(leaves[at].entry, &entry); err != nil {
			return 0, err
		}
		answer, proof, tree, err := getProof(url+"/v1/log/inclusion?leaf="+entry.Leaf, origin, verifier)
		if err != nil {
			return 0, err
		}
		if answer.TreeSize != tree.N {
			return 0, errors.New("a proof of another size than its checkpoint")
		}
		// The same content may be in several entries: the proof says which one it is of.
		named := answer.LeafIndex
		if named < 0 || named >= int64(len(leaves)) {
			continue
		}
		if err := tlog.CheckRecord(proof, tree.N, tree.Hash, named, leaves[named].hash); err != nil {
			return 0, fmt.Errorf("leaf %d: %w", named, err)
		}
		proofs++
	}
	return proofs, nil
}

// judgeConsistency checks that the log extends a stored checkpoint, by its tiles and by the proof that it serves.
func judgeConsistency(url, origin string, verifier note.Verifier, tree tlog.Tree, hashes tlog.HashReader, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	old, err := readCheckpoint(text, origin, verifier)
	if err != nil {
		return err
	}
	own, err := tlog.ProveTree(tree.N, old.N, hashes)
	if err != nil {
		return err
	}
	if err := tlog.CheckTree(own, tree.N, tree.Hash, old.N, old.Hash); err != nil {
		return err
	}
	query := fmt.Sprintf("%s/v1/log/consistency?first=%d&second=%d", url, old.N, tree.N)
	_, served, _, err := getProof(query, origin, verifier)
	if err != nil {
		return err
	}
	return tlog.CheckTree(served, tree.N, tree.Hash, old.N, old.Hash)
}

func getProof(url, origin string, verifier note.Verifier) (proofAnswer, []tlog.Hash, tlog.Tree, error) {
	var answer proofAnswer
	text, err := get(url)
	if err != nil {
		return answer, nil, tlog.Tree{}, err
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, nil, tlog.Tree{}, err
	}
	tree, err := readCheckpoint([]byte(answer.Checkpoint), origin, verifier)
	if err != nil {
		return answer, nil, tree, err
	}
	var proof []tlog.Hash
	for _, each := range answer.Proof {
		hash, err := parseHash(each)
		if err != nil {
			return answer, nil, tree, err
		}
		proof = append(proof, hash)
	}
	return answer, proof, tree, nil
}

// parseHash reads "sha256:" and 64 hexadecimal digits.
func parseHash(text string) (tlog.Hash, error) {
	var hash tlog.Hash
	digits, found := strings.CutPrefix(text, "sha256:")
	if !found || len(digits) != 2*tlog.HashSize {
		return hash, fmt.Errorf("%q is not a hash", text)
	}
	for i := range hash {
		octet, err := strconv.ParseUint(digits[2*i:2*i+2], 16, 8)
		if err != nil {
			return hash, err
		}
		hash[i] = byte(octet)
	}
	return hash, nil
}

func get(url string) ([]byte, error) {
	answer, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, answerMax))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %.200s", url, answer.Status, body)
	}
	return body, nil
}
