// Command second-verifier runs the public test vectors by an implementation that was written from the specification and its documentation
// alone, on the standard library's cryptography and filippo.io/mldsa. It says on standard output what it ran, what it has no check for, and
// what came out otherwise than the vectors say.
//
//	second-verifier FOLDER
//	second-verifier ANCHORS FILE FIRST STEP
//
// With anchors and an evidence file, it says whether the file is valid, and which of every STEPth byte, from the FIRST one on, may be changed
// so that it still is.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
)

type failure struct {
	Name     string `json:"name"`
	Expected any    `json:"expected"`
	Found    any    `json:"found"`
}

type report struct {
	Run    int            `json:"run"`
	Not    map[string]int `json:"not_implemented"`
	Failed []failure      `json:"failed"`
}

var errUsage = errors.New("usage: second-verifier FOLDER, or second-verifier ANCHORS FILE FIRST STEP")

func main() {
	var found any
	var err error
	switch len(os.Args) {
	case 2:
		found, err = runFolder(os.Args[1])
	case 5:
		first, wrong := strconv.Atoi(os.Args[3])
		step, alsoWrong := strconv.Atoi(os.Args[4])
		if wrong != nil || alsoWrong != nil || first < 0 || step < 1 {
			err = errUsage
			break
		}
		found, err = flip(os.Args[1], os.Args[2], first, step)
	default:
		err = errUsage
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(found)
}

func runFolder(folder string) (*report, error) {
	index, err := readFile(folder, "index.json", "")
	if err != nil {
		return nil, err
	}
	r := &runner{trusts: map[string]*trust{}, report: report{Not: map[string]int{}, Failed: []failure{}}}
	var files []object
	for _, each := range list(index, "files") {
		entry := each.(object)
		file, err := readFile(folder, text(entry, "path"), text(entry, "sha256"))
		if err != nil {
			return nil, err
		}
		if int64(len(list(file, "cases"))) != count(entry, "cases") {
			return nil, fmt.Errorf("%s has another number of cases than the index says", text(entry, "path"))
		}
		if trusts := sub(file, "trust"); trusts != nil {
			r.given = trusts
		}
		files = append(files, file)
	}
	keepSpecifications(files)
	for _, file := range files {
		for _, each := range list(file, "cases") {
			r.run(each.(object))
		}
	}
	return &r.report, nil
}

func readFile(folder, path, hash string) (object, error) {
	bytes, err := os.ReadFile(filepath.Join(folder, filepath.Base(path)))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(bytes)
	if hash != "" && hex.EncodeToString(sum[:]) != hash {
		return nil, fmt.Errorf("%s is another file than the index says", path)
	}
	value, ok := parseJSON(bytes)
	file, isFile := value.(object)
	if !ok || !isFile {
		return nil, fmt.Errorf("%s is no JSON object", path)
	}
	return file, nil
}

type runner struct {
	given  object
	trusts map[string]*trust
	report report
}

func (r *runner) anchors(name string) *anchors {
	found, reason := readAnchors(sub(r.given, name)["anchors"])
	if reason != "" {
		panic(name + " has no anchors: " + string(reason))
	}
	return found
}

func (r *runner) trust(name string) *trust {
	if known := r.trusts[name]; known != nil {
		return known
	}
	found, reason := readKeySet(r.anchors(name), sub(r.given, name)["key_set"])
	if reason != "" {
		panic(name + " is no trust: " + string(reason))
	}
	r.trusts[name] = found
	return found
}

func (r *runner) run(vector object) {
	expected := vector["expected"]
	found := r.judge(text(vector, "check"), text(vector, "trust"), sub(vector, "input"))
	if found == nil {
		r.report.Not[text(vector, "check")]++
		return
	}
	r.report.Run++
	if !reflect.DeepEqual(expected, any(found)) {
		r.report.Failed = append(r.report.Failed, failure{text(vector, "name"), expected, found})
	}
}

// verdict is what a case states of a refusal, or of what was found.
func verdict(reason refusal, value any) object {
	if reason != "" {
		return object{"valid": false, "reason": string(reason)}
	}
	if value == nil {
		return object{"valid": true}
	}
	return object{"valid": true, "value": value}
}

func reported(checks outcomes) object {
	valid, stated := false, object{}
	failed := false
	for name, outcome := range checks {
		stated[name] = outcome
		valid = valid || outcome == "ok"
		failed = failed || outcome != "ok" && outcome != "not_checked" && outcome != "unsigned"
	}
	return object{"valid": valid && !failed, "checks": stated}
}

func (r *runner) judge(check, name string, in object) object {
	switch check {
	case "anchors":
		_, reason := readAnchors(in["anchors"])
		return verdict(reason, nil)
	case "key_set":
		a, reason := readAnchors(in["anchors"])
		if reason == "" {
			_, reason = readKeySet(a, in["key_set"])
		}
		return verdict(reason, nil)
	case "signature":
		key := parseKey(in["key"])
		if key == nil || !key.verify(decode64(in["message_base64"]), decode64(in["signature_base64"])) {
			return verdict("signature_invalid", nil)
		}
		return verdict("", nil)
	case "key_possession":
		return verdict(keyPossession(r.anchors(name).passkeys, sub(in, "key"), text(in, "challenge"), in["proof"]), nil)
	case "evidence":
		return judgedFile(r.anchors(name), decode64(in["file_base64"]), in)
	case "projection_document":
		return verdict(projectionDocument(in["document"]), nil)
	}
	t := r.trust(name)
	if given := sub(in, "witnesses"); given != nil {
		policy, reason := readWitnessPolicy(given)
		if reason != "" {
			return verdict(reason, nil)
		}
		witnessed := *t
		witnessed.witnesses = policy
		t = &witnessed
	}
	if found := t.registered(check, in); found != nil {
		return found
	}
	return t.served(check, in)
}

func (t *trust) registered(check string, in object) object {
	switch check {
	case "certificate":
		found, reason := t.certificate(in["envelope"])
		if reason != "" {
			return verdict(reason, nil)
		}
		return verdict("", found.id)
	case "certificates", "certificate_at":
		history, reason := t.history(text(in, "uuid"), list(in, "envelopes"))
		if reason != "" {
			return verdict(reason, nil)
		}
		if check == "certificate_at" {
			return verdict(certificateAt(history, text(in, "cert_id"), text(in, "sealed_at"), text(in, "sealed_at"), false), nil)
		}
		ids := []any{}
		for _, each := range history {
			ids = append(ids, each.id)
		}
		return verdict("", ids)
	case "business_keys":
		_, reason := t.businessKeys(text(in, "uuid"), in["answer"])
		return verdict(reason, nil)
	case "key_custody":
		_, reason := t.keyCustody(in["envelope"])
		return verdict(reason, nil)
	case "custody_at":
		state, reason := t.custodyAt(in["answer"], text(in, "business_uuid"), text(in, "key_id"), text(in, "at"))
		return verdict(reason, state)
	case "mandate", "hold_decision", "custody_request":
		keys, reason := t.businessKeys(text(in, "uuid"), in["business_keys"])
		if reason == "" && check == "mandate" {
			_, reason = t.mandate(keys, in["envelope"])
		} else if reason == "" && check == "hold_decision" {
			reason = t.asked(keys, in["envelope"], holdDecisionV1)
		} else if reason == "" {
			reason = t.asked(keys, in["envelope"], custodyRequestV1)
		}
		return verdict(reason, nil)
	case "seal":
		of, reason := t.sealInput(in)
		if reason != "" {
			return verdict(reason, nil)
		}
		seal, reason := t.seal(*of)
		found := verdict(reason, nil)
		if reason == "" && of.hasSidecar {
			found["sidecar"] = "ok"
			if seal.sidecar != "" {
				found["sidecar"] = string(seal.sidecar)
			}
		}
		return found
	}
	return nil
}

func (t *trust) sealInput(in object) (*sealInput, refusal) {
	history, reason := t.history(text(in, "uuid"), list(in, "certificates"))
	if reason != "" {
		return nil, reason
	}
	keys, reason := t.businessKeys(text(in, "uuid"), in["business_keys"])
	if reason != "" {
		return nil, reason
	}
	document := text(in, "document")
	if document == "" {
		document = "record"
	}
	sidecar, hasSidecar := in["sidecar"]
	_, hasMandates := in["mandates"]
	return &sealInput{
		document: document, bytes: decode64(in["bytes_base64"]), seal: in["seal"], history: history, keys: keys, mandates: list(in, "mandates"), hasMandates: hasMandates,
		sidecar: sidecar, hasSidecar: hasSidecar, expectedHash: text(in, "expected_hash"), policies: sub(in, "policies"), keyEvent: sub(in, "key_event"),
	}, ""
}

func (t *trust) served(check string, in object) object {
	switch check {
	case "sidecar":
		stated, reason := t.sidecar(in["envelope"])
		if subject := sub(in, "subject"); reason == "" {
			reason = concerns(stated, sidecarSubject{text(subject, "record_id"), text(subject, "business_uuid"), text(subject, "hash"), nil})
		}
		return verdict(reason, nil)
	case "receipt":
		_, reason := t.receipt(in["envelope"], in)
		return verdict(reason, nil)
	case "row":
		return verdict(t.row(in["row"], text(in, "served_at")), nil)
	case "projection":
		return verdict(t.projection(in["row"], decode64(in["record_base64"])), nil)
	case "ai_policy_bits":
		var sealed *sealInput
		if policy := sub(in, "policy"); policy != nil {
			of, reason := t.sealInput(policy)
			if reason != "" {
				return verdict(reason, nil)
			}
			of.document = "ai_policy"
			sealed = of
		}
		blocked, reason := t.policyBits(in["bits"], sealed)
		return verdict(reason, blocked)
	case "statement":
		return verdict(t.statement(in), nil)
	case "page":
		return verdict(t.page(in), nil)
	case "key_directory":
		_, reason := t.keyDirectory(in["answer"])
		return verdict(reason, nil)
	case "listed_key_at":
		directory, reason := t.keyDirectory(in["answer"])
		if reason != "" {
			return verdict(reason, nil)
		}
		company, reason := listedKeyAt(directory, text(in, "key_id"), text(in, "at"))
		return verdict(reason, company)
	case "entitlement":
		return verdict(t.entitlement(in), nil)
	case "checkpoint":
		head, reason := t.checkpoint(text(in, "note"))
		if reason != "" {
			return verdict(reason, nil)
		}
		return verdict("", float64(head.size))
	case "log_inclusion":
		entry := sub(in, "entry")
		return verdict(t.logInclusion(entryOf(text(entry, "leaf"), text(entry, "leaf_type"), text(entry, "subject")), sub(in, "evidence")), nil)
	case "receipt_inclusion":
		return verdict(t.receiptInclusion(decode64(in["envelope_base64"]), sub(in, "evidence")), nil)
	case "log_consistency":
		return verdict(t.logConsistency(text(in, "first"), text(in, "second"), list(in, "proof")), nil)
	case "search_answer":
		return reported(t.searchAnswer(decode64(in["body_base64"]), in))
	case "pool_answer":
		return reported(t.poolAnswer(decode64(in["body_base64"]), in))
	case "ad_item":
		return reported(t.adItem(in))
	case "fetch_answer":
		f := readFetched(decode64(in["body_base64"]))
		if f == nil {
			return reported(outcomes{"answer": "payload_malformed"})
		}
		return reported(t.fetchAnswer(f, in))
	}
	return nil
}
