// What the requests that publish share with the pushes that follow from them.

import { setImmediate as nextTurn } from "node:timers/promises";
import { nativeCrypto } from "../crypto/native.ts";
import { createParsedLeaves } from "../service/parsed-leaves.ts";
import { createPushLeaves } from "../service/push-leaves.ts";
import { createUploadTokens } from "../service/upload-token.ts";
import type { NodeServices } from "./services.ts";
import type { NodeStores } from "./stores.ts";

export function pushParts(
  stores: NodeStores,
  recordIdKey: Uint8Array,
): Pick<NodeServices, "leaves" | "uploadTokens" | "parsed" | "pause"> {
  const pause = (): Promise<void> => nextTurn();
  return {
    leaves: createPushLeaves({ ...stores, sha256: nativeCrypto.sha256, pause }),
    uploadTokens: createUploadTokens(nativeCrypto, recordIdKey),
    parsed: createParsedLeaves(),
    pause,
  };
}
