package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

func leafHash(entry []byte) []byte {
	sum := sha256.Sum256(append([]byte{0}, entry...))
	return sum[:]
}

func nodeHash(left, right []byte) []byte {
	sum := sha256.Sum256(append(append([]byte{1}, left...), right...))
	return sum[:]
}

func hashesOf(values []any) [][]byte {
	var found [][]byte
	for _, each := range values {
		text, _ := each.(string)
		hash, _ := hashBytes(text)
		found = append(found, hash)
	}
	return found
}

// rootOf follows an inclusion proof (RFC 9162 §2.1.3.2).
func rootOf(leaf []byte, index, size int64, proof [][]byte) ([]byte, bool) {
	if index >= size || index < 0 {
		return nil, false
	}
	fn, sn, root := index, size-1, leaf
	for _, each := range proof {
		if sn == 0 || len(each) != 32 {
			return nil, false
		}
		if fn&1 == 1 || fn == sn {
			root = nodeHash(each, root)
			for fn&1 == 0 && fn != 0 {
				fn, sn = fn>>1, sn>>1
			}
		} else {
			root = nodeHash(root, each)
		}
		fn, sn = fn>>1, sn>>1
	}
	return root, sn == 0
}

// isConsistent follows a consistency proof (RFC 9162 §2.1.4.2).
func isConsistent(first, second int64, one, two []byte, proof [][]byte) bool {
	if first < 1 || first > second {
		return false
	}
	for _, each := range proof {
		if len(each) != 32 {
			return false
		}
	}
	if first == second {
		return len(proof) == 0 && bytes.Equal(one, two)
	}
	if first&(first-1) == 0 {
		proof = append([][]byte{one}, proof...)
	}
	if len(proof) == 0 {
		return false
	}
	fn, sn := first-1, second-1
	for fn&1 == 1 {
		fn, sn = fn>>1, sn>>1
	}
	fr, sr := proof[0], proof[0]
	for _, c := range proof[1:] {
		if sn == 0 {
			return false
		}
		if fn&1 == 1 || fn == sn {
			fr, sr = nodeHash(c, fr), nodeHash(c, sr)
			for fn&1 == 0 && fn != 0 {
				fn, sn = fn>>1, sn>>1
			}
		} else {
			sr = nodeHash(sr, c)
		}
		fn, sn = fn>>1, sn>>1
	}
	return sn == 0 && bytes.Equal(fr, one) && bytes.Equal(sr, two)
}

// noteLine is a signature line of a C2SP signed note.
type noteLine struct {
	name string
	hash [4]byte
	sig  []byte
}

type checkpoint struct {
	text  string
	size  int64
	root  []byte
	lines []noteLine
}

var sizeForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,15})$`)

const (
	noteMax        = 131_072
	noteLinesMax   = 100
	sizeMax        = 1<<53 - 1
	secondsMax     = 1<<53 - 1
	signatureLeast = 5
)

// isKeyName says whether a name has no space of Unicode, no plus sign and no control character (signed-note, «Format»).
func isKeyName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(c rune) bool { return unicode.IsSpace(c) || c == '+' || c < 0x20 }) < 0
}

// hasControl says whether a note has a character below U+0020 that is no newline.
func hasControl(note string) bool {
	return strings.IndexFunc(note, func(c rune) bool { return c < 0x20 && c != '\n' }) >= 0
}

func parseNote(note string) (*checkpoint, bool) {
	split := strings.LastIndex(note, "\n\n")
	if split < 0 || !strings.HasSuffix(note, "\n") || split+2 >= len(note) || len(note) > noteMax || hasControl(note) {
		return nil, false
	}
	found := &checkpoint{text: note[:split+1]}
	for _, line := range strings.Split(strings.TrimSuffix(note[split+2:], "\n"), "\n") {
		name, encoded, ok := strings.Cut(strings.TrimPrefix(line, "— "), " ")
		sig, isBase64 := strict(base64.StdEncoding, encoded)
		if !ok || !strings.HasPrefix(line, "— ") || !isKeyName(name) || !isBase64 || len(sig) < signatureLeast || len(found.lines) == noteLinesMax {
			return nil, false
		}
		found.lines = append(found.lines, noteLine{name, [4]byte(sig[:4]), sig[4:]})
	}
	lines := strings.Split(strings.TrimSuffix(found.text, "\n"), "\n")
	if len(lines) < 3 || !sizeForm.MatchString(lines[1]) {
		return nil, false
	}
	fmt.Sscan(lines[1], &found.size)
	root, ok := strict(base64.StdEncoding, lines[2])
	found.root = root
	return found, ok && len(root) == 32 && !slices.Contains(lines, "") && found.size <= sizeMax
}

const (
	noteEd25519     = 0x01
	noteCosignature = 0x04
)

func noteHash(name string, algorithm byte, key []byte) [4]byte {
	sum := sha256.Sum256(append(append([]byte(name+"\n"), algorithm), key...))
	return [4]byte(sum[:4])
}

type witness struct {
	name string
	key  ed25519.PublicKey
	hash [4]byte
}

type witnessPolicy struct {
	witnesses []witness
	quorum    int
}

func readWitnessPolicy(given object) (*witnessPolicy, refusal) {
	policy := &witnessPolicy{quorum: int(count(given, "quorum"))}
	seen := map[string]bool{}
	for _, each := range list(given, "keys") {
		found, ok := readWitness(each)
		if !ok || seen[found.name] || seen["key "+string(found.key)] {
			return nil, "checkpoint_invalid"
		}
		seen[found.name], seen["key "+string(found.key)] = true, true
		policy.witnesses = append(policy.witnesses, found)
	}
	if !isCount(given["quorum"]) || policy.quorum > len(policy.witnesses) {
		return nil, "checkpoint_invalid"
	}
	return policy, ""
}

func readWitness(value any) (witness, bool) {
	vkey, _ := value.(string)
	parts := strings.SplitN(vkey, "+", 3)
	if len(parts) != 3 || !isKeyName(parts[0]) {
		return witness{}, false
	}
	key, ok := strict(base64.StdEncoding, parts[2])
	if !ok || len(key) != 33 || key[0] != noteCosignature {
		return witness{}, false
	}
	hash := noteHash(parts[0], noteCosignature, key[1:])
	return witness{parts[0], key[1:], hash}, hex.EncodeToString(hash[:]) == parts[1]
}

// isCosigned checks a cosignature/v1 line.
func (w witness) isCosigned(note *checkpoint, line noteLine) bool {
	if len(line.sig) != 8+ed25519.SignatureSize {
		return false
	}
	seconds := bigEndian(line.sig[:8])
	if seconds == 0 || seconds > secondsMax {
		return false
	}
	message := fmt.Sprintf("cosignature/v1\ntime %d\n%s", seconds, note.text)
	return verifyEd25519(w.key, []byte(message), line.sig[8:])
}

func (t *trust) checkpoint(note string) (*checkpoint, refusal) {
	found, ok := parseNote(note)
	if !ok || !strings.HasPrefix(found.text, t.anchors.origin+"\n") {
		return nil, "checkpoint_invalid"
	}
	isSigned := false
	for _, key := range t.keys {
		if key.use != "log" || key.window.compromised != "" {
			continue
		}
		for _, line := range found.lines {
			isName := line.name == t.anchors.keyName || line.name == t.anchors.origin
			if isName && line.hash == noteHash(line.name, noteEd25519, key.key.ed) {
				if !key.key.verify([]byte(found.text), line.sig) {
					return nil, "checkpoint_invalid"
				}
				isSigned = true
			}
		}
	}
	if !isSigned {
		return nil, "checkpoint_invalid"
	}
	if t.witnesses == nil {
		return found, ""
	}
	seen := 0
	for _, each := range t.witnesses.witnesses {
		cosigned := false
		for _, line := range found.lines {
			if line.name == each.name && line.hash == each.hash {
				if !each.isCosigned(found, line) {
					return nil, "checkpoint_invalid"
				}
				cosigned = true
			}
		}
		if cosigned {
			seen++
		}
	}
	if seen < t.witnesses.quorum {
		return nil, "checkpoint_invalid"
	}
	return found, ""
}

// entryOf is the text of an entry of the log.
func entryOf(leaf, leafType, subject string) []byte {
	return []byte(canonical(object{"v": 1.0, "leaf": leaf, "leaf_type": leafType, "subject": subject}))
}

func (t *trust) logInclusion(entry []byte, evidence object) refusal {
	head, reason := t.checkpoint(text(evidence, "checkpoint"))
	if reason != "" {
		return reason
	}
	if !isIncluded(entry, evidence, head) {
		return "inclusion_invalid"
	}
	return ""
}

func isIncluded(entry []byte, path object, head *checkpoint) bool {
	root, ok := rootOf(leafHash(entry), count(path, "leaf_index"), count(path, "tree_size"), hashesOf(list(path, "proof")))
	return ok && isCount(path["leaf_index"]) && count(path, "tree_size") == head.size && bytes.Equal(root, head.root)
}

func (t *trust) receiptInclusion(envelope []byte, evidence object) refusal {
	lower := sub(evidence, "batch")
	root, ok := rootOf(leafHash(envelope), count(lower, "leaf_index"), count(lower, "tree_size"), hashesOf(list(lower, "proof")))
	stated, isRoot := hashBytes(text(lower, "root"))
	reason := t.logInclusion(entryOf(text(lower, "root"), "receipt_batch", text(lower, "region")+"/"+text(lower, "name")), evidence)
	if reason == "" && (!ok || !isRoot || !bytes.Equal(root, stated)) {
		return "inclusion_invalid"
	}
	return reason
}

func (t *trust) logConsistency(first, second string, proof []any) refusal {
	one, reason := t.checkpoint(first)
	if reason != "" {
		return reason
	}
	two, reason := t.checkpoint(second)
	if reason != "" {
		return reason
	}
	if !isConsistent(one.size, two.size, one.root, two.root, hashesOf(proof)) {
		return "consistency_invalid"
	}
	return ""
}

func base64Of(bytes []byte) string { return base64.StdEncoding.EncodeToString(bytes) }
