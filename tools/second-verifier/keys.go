package main

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"strconv"
	"sync"

	"filippo.io/mldsa"
)

// jwk is a public key; its algorithm follows from it.
type jwk struct {
	alg string
	id  string
	ed  ed25519.PublicKey
	ec  *ecdsa.PublicKey
	dsa *mldsa.PublicKey
	ecX []byte
	ecY []byte
}

func parseKey(value any) *jwk {
	given, ok := value.(object)
	if !ok {
		return nil
	}
	bytes := func(name string, length int) []byte {
		found, ok := strict(base64.RawURLEncoding, text(given, name))
		if !ok || len(found) != length {
			return nil
		}
		return found
	}
	thumbprint := func(names ...string) string {
		required := object{}
		for _, name := range names {
			required[name] = given[name]
		}
		sum := sha256.Sum256([]byte(canonical(required)))
		return base64.RawURLEncoding.EncodeToString(sum[:])
	}
	switch {
	case len(given) == 3 && given["kty"] == "OKP" && given["crv"] == "Ed25519":
		x := bytes("x", 32)
		if x == nil || !isEd25519Key(x) {
			return nil
		}
		return &jwk{alg: "Ed25519", id: thumbprint("crv", "kty", "x"), ed: x, ecX: x}
	case len(given) == 4 && given["kty"] == "EC" && given["crv"] == "P-256":
		x, y := bytes("x", 32), bytes("y", 32)
		if x == nil || y == nil {
			return nil
		}
		key := &ecdsa.PublicKey{Curve: elliptic.P256(), X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y)}
		if _, err := key.ECDH(); err != nil {
			return nil
		}
		return &jwk{alg: "ES256", id: thumbprint("crv", "kty", "x", "y"), ec: key, ecX: x, ecY: y}
	case len(given) == 3 && given["kty"] == "AKP" && given["alg"] == "ML-DSA-65":
		if known, ok := parsed.Load(text(given, "pub")); ok {
			return known.(*jwk)
		}
		pub := bytes("pub", 1952)
		key, err := mldsa.NewPublicKey(mldsa.MLDSA65(), pub)
		if pub == nil || err != nil {
			return nil
		}
		found := &jwk{alg: "ML-DSA-65", id: thumbprint("alg", "kty", "pub"), dsa: key}
		parsed.Store(text(given, "pub"), found)
		return found
	}
	return nil
}

func isKey(value any) bool { return parseKey(value) != nil }

// verify checks a raw signature; of P-256, r and s. It remembers what was right: the same documents come again and again.
func (k *jwk) verify(message, sig []byte) bool {
	sum := sha256.Sum256([]byte(k.id + "|" + strconv.Itoa(len(message)) + "|" + string(message) + string(sig)))
	if _, known := verified.Load(sum); known {
		return true
	}
	if !k.verifyNow(message, sig) {
		return false
	}
	verified.Store(sum, true)
	return true
}

func (k *jwk) verifyNow(message, sig []byte) bool {
	switch k.alg {
	case "Ed25519":
		return verifyEd25519(k.ed, message, sig)
	case "ES256":
		if len(sig) != 64 {
			return false
		}
		sum := sha256.Sum256(message)
		return ecdsa.Verify(k.ec, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:]))
	default:
		return mldsa.Verify(k.dsa, message, sig, nil) == nil
	}
}

// verifyEd25519 asks the standard library only where it has nothing to decide: it takes keys and an R of small order, and keys in a
// form that is not canonical.
func verifyEd25519(key ed25519.PublicKey, message, sig []byte) bool {
	return len(sig) == ed25519.SignatureSize && isEd25519Key(key) && !isSmallOrder(sig[:32]) && ed25519.Verify(key, message, sig)
}

// The field of edwards25519, and d of its equation -x² + y² = 1 + dx²y² (RFC 8032 §5.1).
var (
	one        = big.NewInt(1)
	prime      = new(big.Int).Sub(new(big.Int).Lsh(one, 255), big.NewInt(19))
	edwardsD   = times(big.NewInt(-121665), new(big.Int).ModInverse(big.NewInt(121666), prime))
	smallOrder = map[string]bool{}
)

func times(a, b *big.Int) *big.Int { return new(big.Int).Mod(new(big.Int).Mul(a, b), prime) }

// A point of order 8 has x² = -y², because twice the point has a y of 0; so d·y⁴ + 2y² = 1. The others have a y of 0, 1 or -1.
func init() {
	for _, y := range []string{"0", "1"} {
		smallOrder[y] = true
	}
	smallOrder[new(big.Int).Sub(prime, one).String()] = true
	root := new(big.Int).ModSqrt(new(big.Int).Mod(new(big.Int).Add(one, edwardsD), prime), prime)
	for _, each := range []*big.Int{root, new(big.Int).Sub(prime, root)} {
		square := times(new(big.Int).Sub(each, one), new(big.Int).ModInverse(edwardsD, prime))
		if y := new(big.Int).ModSqrt(square, prime); y != nil {
			smallOrder[y.String()] = true
			smallOrder[new(big.Int).Sub(prime, y).String()] = true
		}
	}
}

// yOf reads the little-endian y of an encoded point, without the bit of x.
func yOf(point []byte) *big.Int {
	reversed := make([]byte, len(point))
	for at, each := range point {
		reversed[len(point)-1-at] = each
	}
	reversed[0] &= 0x7f
	return new(big.Int).SetBytes(reversed)
}

func isSmallOrder(point []byte) bool { return smallOrder[new(big.Int).Mod(yOf(point), prime).String()] }

// isEd25519Key says whether these 32 bytes are the canonical form of a point that is not of small order.
func isEd25519Key(point []byte) bool {
	y := yOf(point)
	if len(point) != ed25519.PublicKeySize || y.Cmp(prime) >= 0 || isSmallOrder(point) {
		return false
	}
	square := times(y, y)
	below := new(big.Int).Add(times(edwardsD, square), one)
	x2 := times(new(big.Int).Sub(square, one), new(big.Int).ModInverse(below.Mod(below, prime), prime))
	return big.Jacobi(x2, prime) >= 0
}

// parsed remembers the keys of ML-DSA, which take long to read.
var parsed sync.Map

var verified sync.Map

// cose is the key as an authenticator registers it (RFC 9053), in canonical CBOR.
func (k *jwk) cose() []byte {
	if k.alg == "Ed25519" {
		return append([]byte{0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 32}, k.ecX...)
	}
	head := append([]byte{0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32}, k.ecX...)
	return append(append(head, 0x22, 0x58, 32), k.ecY...)
}

func hashOf(bytes []byte) string {
	sum := sha256.Sum256(bytes)
	return formatHash(sum[:])
}

func formatHash(hash []byte) string { return "sha256:" + hex.EncodeToString(hash) }

// window says until when and from when a key counts.
type window struct {
	from, until, revoked, compromised string
}

func windowOf(o object) window {
	return window{text(o, "valid_from"), text(o, "valid_until"), text(o, "revoked_at"), text(o, "compromised_from")}
}

// at is the fault of a key at an instant; instants of one form compare as texts.
func (w window) at(instant string) refusal {
	switch {
	case w.compromised != "" && instant >= w.compromised:
		return "key_compromised"
	case instant < w.from || w.until != "" && instant >= w.until || w.revoked != "" && instant >= w.revoked:
		return "key_not_valid"
	}
	return ""
}
