// What each member of a request about held pushes and the end of pushes changes: all of it has a test of its own.

import type { Proof } from "../contract/request-effects.fixture.ts";

const decisions = (title: string): Proof => ({
  shownBy: `stories/publishing/hold-decisions.test.ts: ${title}`,
});
const decide = "POST /v1/pushes/{push_id}/hold";

export const holdProofs: Readonly<Record<string, Proof>> = {
  "POST /v1/pushes/{push_id}/cancel path push_id": {
    shownBy:
      "stories/publishing/cancel-push.test.ts: of another business does not exist, nor one that was never accepted",
  },
  "GET /v1/holds query cursor": decisions("is listed on pages of twenty, and a wrong cursor is refused"),
  [`${decide} path push_id`]: decisions("for another push"),
  [`${decide} body /decision`]: decisions("that is no envelope"),
  [`${decide} body /decision/payload`]: decisions("changed after sealing"),
  [`${decide} body /decision/payloadType`]: decisions("of another payload type"),
  [`${decide} body /decision/signatures`]: decisions("signed twice"),
  [`${decide} body /decision/signatures/*/keyid`]: decisions("under the key_id of another person"),
  [`${decide} body /decision/signatures/*/sig`]: decisions("with the signature of another document"),
  [`${decide} body /decision/signatures/*/authenticatorData`]: decisions("with other authenticator data"),
  [`${decide} body /decision/signatures/*/clientDataJSON`]: decisions("with other client data"),
};
