// What follows from the secret of the record ids, which all nodes share and which never changes.

import { nativeCrypto } from "../crypto/native.ts";
import { utf8 } from "../protocol/bytes.ts";
import { recordIdOf } from "../protocol/identifiers.ts";
import type { NodeServices } from "./services.ts";

export function derivedFrom(
  recordIdKey: Uint8Array,
): Pick<NodeServices, "recordIdOf" | "cursorKey" | "imageLinkKey" | "adTokenKey" | "adSessionKey"> {
  const { hmacSha256 } = nativeCrypto;
  return {
    recordIdOf: (businessUuid, kind, localId) =>
      recordIdOf(kind, hmacSha256(recordIdKey, utf8(`${businessUuid}\n${kind}\n${localId}`))),
    cursorKey: hmacSha256(recordIdKey, utf8("cursors")),
    imageLinkKey: hmacSha256(recordIdKey, utf8("image links")),
    adTokenKey: hmacSha256(recordIdKey, utf8("ad tokens")),
    adSessionKey: hmacSha256(recordIdKey, utf8("ad sessions")),
  };
}
