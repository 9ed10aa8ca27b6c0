// What each member of a request about a file of records changes: all of it has a test of its own.

import type { Proof } from "../contract/request-effects.fixture.ts";

const seal = (title: string): Proof => ({ shownBy: `stories/publishing/bulk-seal.test.ts: ${title}` });
const imports = (title: string): Proof => ({ shownBy: `stories/publishing/bulk-import.test.ts: ${title}` });
const validations = (title: string): Proof => ({
  shownBy: `stories/publishing/validate-import.test.ts: ${title}`,
});
const unknown = "of an unknown upload, of another business's, or without a file is refused by name";
const byIdempotencyKey =
  "is answered with the state now when it is requested again, with any Idempotency-Key";
const importing = "POST /v1/bulk-imports";

export const bulkProofs: Readonly<Record<string, Proof>> = {
  "POST /v1/bulk-uploads body /record_type": imports("is for products only, and only for a body of its form"),
  "POST /v1/bulk-uploads header Idempotency-Key": imports(
    "says where and how, and is answered with the same words again",
  ),
  "POST /v1/bulk-uploads/{upload_id}/file path upload_id": {
    shownBy:
      "stories/publishing/bulk-upload.full.test.ts: that was never issued is unknown, whatever its token",
  },
  [`${importing} query validate_only`]: validations(
    "comes to what its import then comes to, line by line, and nothing changes",
  ),
  [`${importing} query outcome`]: validations("is held as its import would be, for the same reasons"),
  [`${importing} query cursor`]: validations("is answered in pages, with the counts of the whole file"),
  [`${importing} header Idempotency-Key`]: imports(byIdempotencyKey),
  [`${importing} body /upload_id`]: imports(unknown),
  [`${importing} body /batch_seal`]: seal("that is empty"),
  [`${importing} body /batch_seal/payloadType`]: seal("of another payload type"),
  [`${importing} body /batch_seal/payload`]: seal("with another payload"),
  [`${importing} body /batch_seal/signatures`]: seal("without a signature"),
  [`${importing} body /batch_seal/signatures/*/keyid`]: seal("under another key_id"),
  [`${importing} body /batch_seal/signatures/*/sig`]: seal("with another signature"),
  [`${importing} body /batch_seal/signatures/*/authenticatorData`]: seal("with authenticator data"),
  [`${importing} body /batch_seal/signatures/*/clientDataJSON`]: seal("with client data"),
};
