package main

// anchors are what is trusted in advance.
type anchors struct {
	sandbox         bool
	roots           []object
	passkeys        passkeys
	origin, keyName string
}

var isAnchors = closed(map[string]member{
	"v":           need(is(1.0)),
	"environment": need(oneOf("production", "sandbox")),
	"roots": need(listOf(closed(map[string]member{
		"key_id": need(isKeyID), "alg": need(oneOf("ES256", "ML-DSA-65")), "public_key": need(isKey), "pair": need(isKeyID),
	}))),
	"passkeys": need(closed(map[string]member{"rp_ids": need(distinct(1, 16, textOf(253))), "origins": need(distinct(1, 64, textOf(512)))})),
	"log":      need(closed(map[string]member{"origin": need(textOf(256)), "key_name": need(textOf(256))})),
})

func readAnchors(value any) (*anchors, refusal) {
	if !isAnchors(value) {
		return nil, "payload_malformed"
	}
	given := value.(object)
	found := &anchors{
		sandbox:  given["environment"] == "sandbox",
		passkeys: passkeys{list(sub(given, "passkeys"), "rp_ids"), list(sub(given, "passkeys"), "origins")},
		origin:   text(sub(given, "log"), "origin"), keyName: text(sub(given, "log"), "key_name"),
	}
	byID := map[string]object{}
	for _, each := range list(given, "roots") {
		root := each.(object)
		key := parseKey(root["public_key"])
		if key.id != text(root, "key_id") || key.alg != text(root, "alg") {
			return nil, "payload_malformed"
		}
		byID[key.id] = root
		found.roots = append(found.roots, root)
	}
	for id, root := range byID {
		other := byID[text(root, "pair")]
		if other == nil || text(other, "pair") != id || other["alg"] == root["alg"] {
			return nil, "payload_malformed"
		}
	}
	if len(found.roots) < 2 {
		return nil, "payload_malformed"
	}
	return found, ""
}

// serviceKey is a key of the service.
type serviceKey struct {
	key                   *jwk
	use, region, pair, id string
	window                window
}

// trust is a key set that chains to the anchors.
type trust struct {
	anchors  *anchors
	keys     map[string]*serviceKey
	issuedAt string
	// witnesses is the policy by which checkpoints are judged, if there is one.
	witnesses *witnessPolicy
}

var isUse = oneOf("root", "issuance", "projection", "receipt", "sidecar", "statement", "log")
var isAlg = oneOf("ES256", "Ed25519", "ML-DSA-65")

var keySetV1 = format{"key-set", 1, map[string]member{
	"issued_at": need(isInstant),
	"keys": need(sized(1, 1024, closed(map[string]member{
		"key_id": need(isKeyID), "use": need(isUse), "region": need(orNull(matches(regionForm))), "alg": need(isAlg),
		"public_key": need(isKey), "pair": need(orNull(isKeyID)), "valid_from": need(isInstant),
		"valid_until": need(orNull(isInstant)), "compromised_from": need(orNull(isInstant)),
	}))),
	"certificates": need(sized(1, 1024, isAny)),
}}

var keyCertificateV1 = format{"key-certificate", 1, map[string]member{
	"use": need(isUse), "region": need(orNull(matches(regionForm))),
	"keys": need(sized(1, 2, closed(map[string]member{
		"key_id": need(isKeyID), "alg": need(isAlg), "public_key": need(isKey),
	}))),
	"valid_from": need(isInstant), "valid_until": need(orNull(isInstant)), "issuer": need(distinct(2, 2, isKeyID)),
	"issued_at": need(isInstant), "compromised_from": need(orNull(isInstant)), "sandbox": maybe(isTrue),
}}

func isPairUse(use string) bool { return use == "root" || use == "issuance" }

func readKeySet(a *anchors, value any) (*trust, refusal) {
	beside := object{}
	if given, ok := value.(object); ok {
		if signed, there := given["signed"]; there {
			value, beside = signed, given
		}
	}
	env, payload, reason := read(value, keySetV1)
	if reason != "" {
		return nil, reason
	}
	if saysOtherwise(beside, payload, "keys") {
		return nil, "payload_malformed"
	}
	t := &trust{anchors: a, keys: map[string]*serviceKey{}, issuedAt: text(payload, "issued_at")}
	for _, each := range list(payload, "keys") {
		entry := each.(object)
		key := parseKey(entry["public_key"])
		found := &serviceKey{key: key, id: text(entry, "key_id"), use: text(entry, "use"), region: text(entry, "region"), pair: text(entry, "pair"), window: windowOf(entry)}
		pair := isPairUse(found.use)
		if key.id != found.id || key.alg != text(entry, "alg") || (found.region != "") != (found.use == "receipt") ||
			pair != (found.pair != "") || !pair && key.alg != "Ed25519" || t.keys[found.id] != nil {
			return nil, "payload_malformed"
		}
		t.keys[found.id] = found
	}
	for id, each := range t.keys {
		if each.pair == "" {
			continue
		}
		other := t.keys[each.pair]
		if other == nil || other.pair != id || other.use != each.use || other.window != each.window ||
			!(each.key.alg == "ES256" && other.key.alg == "ML-DSA-65" || each.key.alg == "ML-DSA-65" && other.key.alg == "ES256") {
			return nil, "payload_malformed"
		}
	}
	certificates, reason := readKeyCertificates(a, list(payload, "certificates"))
	if reason != "" {
		return nil, reason
	}
	if reason := t.chain(certificates, map[string]bool{}); reason != "" {
		return nil, reason
	}
	return t, t.verifyPair(env, "issuance", t.issuedAt)
}

// readKeyChain reads the certificates of some keys, without a key set around them. A pinned root needs none.
func readKeyChain(a *anchors, values []any) (*trust, refusal) {
	certificates, reason := readKeyCertificates(a, values)
	if reason != "" {
		return nil, reason
	}
	t, pinned := &trust{anchors: a, keys: map[string]*serviceKey{}}, map[string]bool{}
	for _, root := range a.roots {
		id := text(root, "key_id")
		t.keys[id] = &serviceKey{key: parseKey(root["public_key"]), id: id, use: "root", pair: text(root, "pair")}
		pinned[id] = true
	}
	for _, each := range certificates {
		window := windowOf(each.payload)
		window.compromised = ""
		for at, one := range list(each.payload, "keys") {
			found := &serviceKey{key: parseKey(one.(object)["public_key"]), id: each.ids[at], use: text(each.payload, "use"), region: text(each.payload, "region"), window: window}
			if isPairUse(found.use) {
				found.pair = each.ids[1-at]
			}
			t.keys[found.id] = found
		}
	}
	return t, t.chain(certificates, pinned)
}

type keyCertificate struct {
	env     *envelope
	payload object
	ids     []string
	issuer  []string
}

func readKeyCertificates(a *anchors, values []any) ([]keyCertificate, refusal) {
	var found []keyCertificate
	for _, each := range values {
		env, payload, reason := read(each, keyCertificateV1)
		if reason != "" {
			return nil, reason
		}
		one := keyCertificate{env: env, payload: payload}
		use := text(payload, "use")
		var algs []string
		for _, key := range list(payload, "keys") {
			entry := key.(object)
			parsed := parseKey(entry["public_key"])
			if parsed.id != text(entry, "key_id") || parsed.alg != text(entry, "alg") {
				return nil, "payload_malformed"
			}
			one.ids = append(one.ids, parsed.id)
			algs = append(algs, parsed.alg)
		}
		for _, id := range list(payload, "issuer") {
			one.issuer = append(one.issuer, id.(string))
		}
		isPair := len(algs) == 2 && algs[0] == "ES256" && algs[1] == "ML-DSA-65"
		isSole := len(algs) == 1 && algs[0] == "Ed25519"
		if isPairUse(use) && !isPair || !isPairUse(use) && !isSole || len(one.issuer) != 2 ||
			(text(payload, "region") != "") != (use == "receipt") {
			return nil, "payload_malformed"
		}
		if (payload["sandbox"] == true) != a.sandbox {
			return nil, "key_unknown"
		}
		found = append(found, one)
	}
	return found, ""
}

// chain follows the certificates from the anchors; every certificate has to verify, and every key has to have one but those that have
// none to show.
func (t *trust) chain(certificates []keyCertificate, certified map[string]bool) refusal {
	trusted := map[string]bool{}
	for _, each := range certificates {
		for _, id := range each.ids {
			key := t.keys[id]
			if key == nil || key.use != text(each.payload, "use") || key.region != text(each.payload, "region") ||
				key.window.from != text(each.payload, "valid_from") || key.window.until != text(each.payload, "valid_until") {
				return "trust_chain_broken"
			}
			if from := text(each.payload, "compromised_from"); from != "" && (key.window.compromised == "" || from < key.window.compromised) {
				key.window.compromised = from
			}
			certified[id] = true
		}
	}
	for id := range t.keys {
		if !certified[id] {
			return "trust_chain_broken"
		}
	}
	for _, root := range t.anchors.roots {
		key := t.keys[text(root, "key_id")]
		if key != nil && (key.use != "root" || key.pair != text(root, "pair")) {
			return "trust_chain_broken"
		}
		if key != nil {
			trusted[key.id] = true
		}
	}
	done := make([]bool, len(certificates))
	for again := true; again; {
		again = false
		for i, each := range certificates {
			if done[i] || !trusted[each.issuer[0]] || !trusted[each.issuer[1]] {
				continue
			}
			if reason := t.certifies(each); reason != "" {
				return reason
			}
			for _, id := range each.ids {
				trusted[id] = true
			}
			done[i], again = true, true
		}
	}
	for i := range done {
		if !done[i] {
			return "trust_chain_broken"
		}
	}
	return ""
}

func (t *trust) certifies(each keyCertificate) refusal {
	issuer, use := t.keys[each.issuer[0]], text(each.payload, "use")
	if issuer.pair != each.issuer[1] || issuer.use == "root" && !isPairUse(use) || issuer.use == "issuance" && isPairUse(use) || !isPairUse(issuer.use) {
		return "trust_chain_broken"
	}
	reason := t.verifyPair(each.env, issuer.use, text(each.payload, "issued_at"))
	if reason == "" || reason == "post_quantum_required" {
		return reason
	}
	return "trust_chain_broken"
}

// verifyPair checks both halves of a long-lived document.
func (t *trust) verifyPair(env *envelope, use, at string) refusal {
	halves := map[string]*serviceKey{}
	sigs := map[string][]byte{}
	for _, each := range env.signatures {
		key := t.keys[each.keyID]
		if key == nil || key.use != use {
			return "key_unknown"
		}
		if halves[key.key.alg] != nil || each.asserted {
			return "envelope_malformed"
		}
		halves[key.key.alg], sigs[key.key.alg] = key, each.sig
	}
	classical, quantum := halves["ES256"], halves["ML-DSA-65"]
	if classical == nil || quantum == nil {
		return "post_quantum_required"
	}
	if classical.pair != quantum.id {
		return "key_unknown"
	}
	for _, half := range []*serviceKey{classical, quantum} {
		if reason := half.window.at(at); reason != "" {
			return reason
		}
	}
	message := env.pae()
	if !classical.key.verify(message, sigs["ES256"]) || !quantum.key.verify(message, sigs["ML-DSA-65"]) {
		return "signature_invalid"
	}
	return ""
}

// verifyWorking checks the one signature of a working key that was valid at an instant.
func (t *trust) verifyWorking(env *envelope, use, region, at string) refusal {
	if len(env.signatures) != 1 {
		return "envelope_malformed"
	}
	s := env.signatures[0]
	key := t.keys[s.keyID]
	if key == nil || key.use != use || key.region != region {
		return "key_unknown"
	}
	if reason := key.window.at(at); reason != "" {
		return reason
	}
	if s.asserted || !key.key.verify(env.pae(), s.sig) {
		return "signature_invalid"
	}
	return ""
}
