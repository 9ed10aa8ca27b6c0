// Published projection specifications: a version has one specification, and one hash, permanently.

import { canonicalize, type JsonValue } from "../protocol/canonical-json.ts";
import type { ProjectionSpecification } from "../protocol/projection/specification.ts";
import { projectionByName, projectionDocument } from "../protocol/projection/specifications.ts";
import { ok, refuse, type Verdict } from "../protocol/result.ts";
import { isObject } from "../std/is-object.ts";

/**
 * Compares the parsed answer of `GET /v1/projections/{type}/{version}` with this verifier's own specification of that
 * version: rows name a version, not a hash, so a specification that differs applies to no row. Refuses with
 * `payload_malformed`, with `projection_unknown` for a version not known here, and with `hash_mismatch` for a different
 * text under a known version.
 */
export function verifyProjectionDocument(value: JsonValue): Verdict<ProjectionSpecification> {
  const version = isObject(value) ? value["version"] : undefined;
  if (typeof version !== "string")
    return refuse("payload_malformed", "A projection specification names its version.", "/version");
  const known = projectionByName(version);
  if (known === null) return refuse("projection_unknown", `Projection ${version} is not known.`, "/version");
  const [type = "", number = ""] = version.split("/");
  return canonicalize(value) === canonicalize(projectionDocument(type, Number(number)))
    ? ok(known)
    : refuse("hash_mismatch", `Projection ${version} is another one than this.`, "/sha256");
}
