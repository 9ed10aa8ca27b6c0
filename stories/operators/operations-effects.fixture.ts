// Members of operators' requests, with the tests that show the effect of each. For tests. The labels are
// those of ops/acts.ts and node/keeping/audit-log.ts.

import { listNames } from "../../protocol/identifiers.ts";
import type { Proof } from "../contract/request-effects.fixture.ts";

/** The operators' surface has its own tests, which say how each of its functions was called. */
export const operations: Readonly<Record<string, Proof>> = {
  ...Object.fromEntries(
    [
      ...["retry", "passivate", "release", "cancel"].flatMap((act) =>
        ["path kind", "path id", "body /expected", "body /reason"]
          .concat(["status", "states", "head"].map((name) => `body /expected/${name}`))
          .map((member) => `actors/{kind}/{id}/${act} ${member}`),
      ),
      ...["path incarnation", "body /expected", "body /expected/state", "body /reason"].map(
        (member) => `nodes/{incarnation}/drain ${member}`,
      ),
    ].map((key) => [
      `POST /ops/${key}`,
      {
        shownBy: "ops/actor-acts.test.ts: each member of an act reaches what does it, and the audit log (%s)",
      },
    ]),
  ),
  ...Object.fromEntries(
    ["kind", "id"].map((name) => [
      `GET /ops/actors/{kind}/{id}/export path ${name}`,
      {
        shownBy:
          "node/inspection/journal-export.full.test.ts: is refused without the right to act, and where there is nothing to export",
      },
    ]),
  ),
  ...Object.fromEntries(
    ["token", "rights", "by"].map((name) => [
      `POST /ops/session body /${name}`,
      {
        shownBy: "ops/access.test.ts: has the rights of its token at most, and less where that was asked for",
      },
    ]),
  ),
  ...Object.fromEntries(
    [
      ...["kind", "state", "region", "node", "part", "scope", "after", "limit"].map(
        (name) => `actors query ${name}`,
      ),
      "search query q",
      "search query limit",
      "machines/{kind} path kind",
      ...["surface", "code", "key_id"].map((name) => `refusals query ${name}`),
      ...["", "/journal"].flatMap((last) =>
        ["kind", "id"].map((name) => `actors/{kind}/{id}${last} path ${name}`),
      ),
      ...["before", "limit"].map((name) => `actors/{kind}/{id}/journal query ${name}`),
      ...["kind", "id"].map((name) => `live/actors/{kind}/{id} path ${name}`),
    ].map((key) => [
      `GET /ops/${key}`,
      { shownBy: "ops/inspection.test.ts: each member of a read reaches what answers it" },
    ]),
  ),
  ...Object.fromEntries(
    ["moves body /party", "moves body /to", "declare-dead body /region", "declare-dead body /successor"]
      .concat("declare-dead body /force", "put-in body /region", "rejoin body /region")
      .concat("rebuild body /collection", "log-checkpoint body /checkpoint")
      .map((rest) => [`POST /ops/cluster/${rest}`, { shownBy: "ops/ops.test.ts: say %s %j" }]),
  ),
  ...Object.fromEntries(
    ["cluster/moves", "cluster/declare-dead", "cluster/put-in", "cluster/rejoin", "cluster/rebuild"]
      .concat("cluster/log-checkpoint")
      .concat("keys/{key_id}/revoke", "mandates/{business_uuid}/{mandate_id}/revoke", "grants/revoke")
      .concat(["revoke", "close", "withdraw"].map((last) => `certificates/{uuid}/${last}`))
      .map((path) => `POST /ops/${path} body /reason`)
      .map((key) => [
        key,
        {
          shownBy:
            "ops/revocations.test.ts: has each act before it begins, with who, why and from where, and then what became of it (A1, A2)",
        },
      ]),
  ),
  ...Object.fromEntries(
    ["keys/{key_id}/revoke path key_id", "keys/{key_id}/revoke body /compromised_from"]
      .concat("mandates/{business_uuid}/{mandate_id}/revoke path business_uuid")
      .concat("mandates/{business_uuid}/{mandate_id}/revoke path mandate_id", "grants/revoke body /grant")
      .concat(
        ["revoke", "close", "withdraw"].flatMap((last) =>
          ["path uuid", "body /cert_id", "body /status_reason", "body /effective_from"].map(
            (member) => `certificates/{uuid}/${last} ${member}`,
          ),
        ),
      )
      .map((key) => [`POST /ops/${key}`, { shownBy: "ops/revocations.test.ts: say %s %j, by whom and why" }]),
  ),
  ...Object.fromEntries(
    [
      ...["path uuid", "body /kind", "body /legal_name", "body /country", "body /reason"].map(
        (member) => `POST /ops/parties/{uuid}/certify ${member}`,
      ),
      ...["path uuid", "body /reason"].map((member) => `POST /ops/parties/{uuid}/keys ${member}`),
      "GET /ops/parties/{uuid} path uuid",
    ].map((key) => [
      key,
      {
        shownBy:
          "stories/operators/enrolment.test.ts: is certified, proves its key and asks; doing it again changes nothing",
      },
    ]),
  ),
  ...Object.fromEntries(
    ["path uuid", "body /cert_id", "body /reason"].map((member) => [
      `POST /ops/parties/{uuid}/reissue ${member}`,
      {
        shownBy:
          "stories/operators/enrolment.test.ts: follows the one before, under which what was sealed stands, and is what is named from then on",
      },
    ]),
  ),
  "POST /ops/parties/{uuid}/certify body /cert_id": {
    shownBy: "stories/operators/enrolment.test.ts: changes nothing, and neither does the opposite",
  },
  "GET /ops/ledgers query after": {
    shownBy:
      "stories/money/allowance.test.ts: sees which accounts run low, what was used, and in the metrics which of them to look at",
  },
  ...Object.fromEntries(
    ["uuid", "file"].map((name) => [
      `GET /ops/applications/{uuid}/evidence/{file}/download path ${name}`,
      {
        shownBy:
          "stories/portal/evidence.test.ts: needs the right for parties and a name, and is answered 404 for a file that is not there",
      },
    ]),
  ),
  ...Object.fromEntries(
    [
      "GET /ops/recoveries query after",
      "GET /ops/recoveries/{recovery_id} path recovery_id",
      ...[
        "approve path recovery_id",
        "approve body /reason",
        "approve body /replaces",
        "approve body /key_id",
      ]
        .concat("refuse path recovery_id", "refuse body /reason", "refuse body /statement")
        .concat("refuse body /key_id")
        .map((member) => `POST /ops/recoveries/{recovery_id}/${member}`),
    ].map((key) => [
      key,
      {
        shownBy:
          "stories/portal/recovery.test.ts: is replaced by two operators, 72 hours after all who bind the business were told, across restarts",
      },
    ]),
  ),
  ...Object.fromEntries(
    [
      "GET /ops/applications query after",
      "GET /ops/applications/{uuid} path uuid",
      ...["approve path uuid", "approve body /reason"].map(
        (member) => `POST /ops/applications/{uuid}/${member}`,
      ),
      ...["path uuid", "body /reason", "body /statement"].map(
        (member) => `POST /ops/applications/{uuid}/refuse ${member}`,
      ),
    ].map((key) => [
      key,
      {
        shownBy:
          "stories/portal/applying.test.ts: comes in when an operator approves it: certified, with its owner and the owner's passkey",
      },
    ]),
  ),
  ...Object.fromEntries(
    ["valid_until", "public_key", "proof", "proof/payload", "proof/payloadType", "proof/signatures"]
      .concat(["kty", "crv", "x", "y", "pub"].map((name) => `public_key/${name}`))
      .concat(
        ["keyid", "sig", "authenticatorData", "clientDataJSON"].map((name) => `proof/signatures/*/${name}`),
      )
      .map((name) => [
        `POST /ops/parties/{uuid}/keys body /${name}`,
        {
          shownBy:
            "stories/operators/enrolment.test.ts: whose proof is for another party, role or certificate, or was not made by it",
        },
      ]),
  ),
  ...Object.fromEntries(
    ["alg", "ext", "key_ops", "kid", "use"].map((name) => [
      `POST /ops/parties/{uuid}/keys body /public_key/${name}`,
      { shownBy: "protocol/keys/jwk.test.ts: loses what is not the key" },
    ]),
  ),
  ...Object.fromEntries(
    ["keys/{key_id} path key_id", "certificates/{uuid} path uuid", "acts/{uuid} path uuid"]
      .concat(
        "acts/{uuid} query after",
        "acts/{uuid} query entry",
        "mandates/{business_uuid}/{mandate_id} path business_uuid",
      )
      .concat("mandates/{business_uuid}/{mandate_id} path mandate_id")
      .map((key) => [
        `GET /ops/${key}`,
        { shownBy: "ops/revocations.test.ts: look at it before, and at what was done" },
      ]),
  ),
  ...Object.fromEntries(
    [
      ...["block", "unblock"].flatMap((last) =>
        ["path business_uuid", "body /group", "body /expected", "body /reason"].map(
          (member) => `POST /ops/blocks/{business_uuid}/${last} ${member}`,
        ),
      ),
      ...["path company_uuid", "body /group", "body /expected", "body /reason"].map(
        (member) => `POST /ops/groups/{company_uuid}/join ${member}`,
      ),
      ...["blocks/{business_uuid} path business_uuid", "groups/{company_uuid} path company_uuid"].map(
        (read) => `GET /ops/${read}`,
      ),
    ].map((key) => [key, { shownBy: "ops/blocks.test.ts: operators block, unblock and change groups" }]),
  ),
  ...Object.fromEntries(
    ["confirm", "unconfirm"]
      .flatMap((last) =>
        ["path business_uuid", "body /name", "body /expected", "body /reason"].map(
          (member) => `POST /ops/brands/{business_uuid}/${last} ${member}`,
        ),
      )
      .concat("GET /ops/brands/{business_uuid} path business_uuid")
      .map((key) => [key, { shownBy: "ops/blocks.test.ts: operators confirm brands, and take that back" }]),
  ),
  ...Object.fromEntries(
    [
      "GET /ops/takedowns/{subject} path subject",
      ...["path subject", "body /statement_of_reasons", "body /expected", "body /reason"].map(
        (member) => `POST /ops/takedowns/{subject}/impose ${member}`,
      ),
      ...["path subject", "body /expected", "body /reason"].map(
        (member) => `POST /ops/takedowns/{subject}/lift ${member}`,
      ),
    ].map((key) => [
      key,
      {
        shownBy:
          "ops/takedowns.test.ts: operators take something out of serving, undo it, and see what is out of it",
      },
    ]),
  ),
  ...Object.fromEntries(
    [
      ...["path business_uuid", "query after"].map(
        (member) => `GET /ops/deletions/{business_uuid} ${member}`,
      ),
      ...["release", "reject"].flatMap((last) =>
        ["path business_uuid", "path document_hash", "body /reason"].map(
          (member) => `POST /ops/deletions/{business_uuid}/{document_hash}/${last} ${member}`,
        ),
      ),
      ...["path record_id", "body /ground", "body /reason"].map(
        (member) => `POST /ops/purge-orders/{record_id} ${member}`,
      ),
    ].map((key) => [
      key,
      {
        shownBy:
          "ops/takedowns.test.ts: operators decide on deletions that wait, and have purged what the law orders",
      },
    ]),
  ),
  ...Object.fromEntries(
    [
      ...["path business_uuid", "path campaign_id", "query after"].map(
        (member) => `GET /ops/campaigns/{business_uuid}/{campaign_id} ${member}`,
      ),
      "GET /ops/campaigns query after",
      ...[
        "path business_uuid",
        "path campaign_id",
        "body /company_uuid",
        "body /expected",
        "body /reason",
      ].map((member) => `POST /ops/campaigns/{business_uuid}/{campaign_id}/reverse ${member}`),
      ...["path campaign_id", "query after"].map((member) => `GET /v1/ads/campaigns/{campaign_id} ${member}`),
    ].map((key) => [
      key,
      {
        shownBy:
          "stories/ads/ad-bounds.test.ts: spends a small part of it, and takes nothing from others; its advertiser sees who it was, and has it back",
      },
    ]),
  ),
  ...Object.fromEntries(
    [
      ...["path business_uuid", "path campaign_id", "body /expected", "body /reason"].flatMap((member) =>
        ["stop", "resume"].map((act) => `POST /ops/campaigns/{business_uuid}/{campaign_id}/${act} ${member}`),
      ),
      "POST /ops/campaigns/{business_uuid}/{campaign_id}/stop body /statement",
    ].map((key) => [
      key,
      {
        shownBy:
          "stories/ads/ads-again.test.ts: is served and rendered no more, whatever its advertiser seals, until they let it go on",
      },
    ]),
  ),
  ...Object.fromEntries(
    [
      "GET /ops/lists/{list} path list",
      ...["path list", "query version"].map((member) => `GET /ops/lists/{list}/text ${member}`),
      ...listNames.flatMap((list) =>
        ["text", "expected", "reason"].map((member) => `POST /ops/lists/${list}/set body /${member}`),
      ),
    ].map((key) => [
      key,
      {
        shownBy:
          "stories/operators/operator-lists.test.ts: is shown with all that was set before, and given back byte for byte",
      },
    ]),
  ),
  "GET /ops/audit query before": {
    shownBy:
      "node/keeping/audit-log.test.ts: gives pages, newest first, that leave nothing out where entries have one moment (AR1)",
  },
  ...Object.fromEntries(
    ["revoke", "close", "withdraw"].map((last) => [
      `POST /ops/certificates/{uuid}/${last} body /keep_keys`,
      {
        shownBy:
          "stories/operators/takedowns.test.ts: of an AI company: its keys end with it, unless they are kept",
      },
    ]),
  ),
  "GET /v1/held-deletions query after": {
    shownBy:
      "api/removal-ended.test.ts: an operator, for a deletion after a revocation for compromise; until then nothing is destroyed",
  },
  ...Object.fromEntries(
    ["path business_uuid", "query after"].map((member) => [
      `GET /ops/purges/{business_uuid} ${member}`,
      { shownBy: "ops/ops.test.ts: are shown late purges, and the deletions of a business in pages" },
    ]),
  ),
};
