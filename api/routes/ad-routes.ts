// Ads: pools and statements of AI companies on the retrieval surface, campaigns and creatives of advertisers on that of businesses.

import { adRequestBytesMax, verifyBytesMax } from "../../protocol/limits.ts";
import { either, type Shape } from "../../protocol/shape.ts";
import {
  adAnswer,
  adRemovalRequest,
  campaignAnswer,
  clickAnswer,
  clickRequest,
  poolAnswer,
  poolRequest,
  removedAdAnswer,
  renderAnswer,
  renderRequest,
  sealedAdRequest,
} from "../../protocol/wire/ad-requests.ts";
import type { ServePool } from "../../service/ads/ad-pool.ts";
import type { AdStatement } from "../../service/ads/ad-render.ts";
import type { SealedAdCall } from "../../service/ads/publish-ad.ts";
import { type Outcome, parseJsonBody } from "../../service/answer.ts";
import { single } from "../request-parts.ts";
import { answeredWith, type Parameter, type Route, type RouteDoc, sandboxKey } from "../route.ts";
import { businessPush, type Callers, companyRoute, idempotencyKey, type SignedCall } from "../signed.ts";

/** What the routes of the retrieval surface call. */
export interface AdRoutesServices {
  readonly pool: ServePool;
  readonly render: (statement: AdStatement) => Promise<Outcome>;
  readonly click: (statement: AdStatement) => Promise<Outcome>;
}

/** What the routes of the business surface call. */
export interface AdPublishing {
  readonly publishAd: (call: SealedAdCall) => Promise<Outcome>;
  readonly removeAd: (call: SealedAdCall & { readonly campaignId: string }) => Promise<Outcome>;
}

const bodyProblems = [
  "request_invalid",
  "record_too_large",
  "request_timeout",
  "media_type_unsupported",
] as const;

const mayRepeat: Parameter = {
  ...idempotencyKey,
  required: false,
  description:
    "Sending the same key with the same request replays the first answer. Without it a statement is repeated by its token.",
};
const statementProblems = [
  "idempotency_in_progress",
  "idempotency_key_reused",
  "region_misdirected",
] as const;

const poolDoc: RouteDoc = {
  summary: "Ads for one country, in your order",
  description:
    "Up to 20 ads whose keywords are among yours, each of which verifies alone and offline: its row, its seal, every text and link, and a hash for each image. The order is the one that you name; `random` is the order of SHA-256 over the `retrieval_id`, a line feed and the `ad_id`, so anybody can recompute it. Only subject terms: a keyword that may be personal is refused. Not billed. Show none before its render is confirmed.",
  parameters: [sandboxKey],
  body: poolRequest,
  answers: answeredWith("The pool, with its receipt", poolAnswer, ["Cache-Control"]),
  problems: [
    ...bodyProblems,
    "sort_required",
    "sort_not_allowed",
    "keyword_not_allowed",
    "region_misdirected",
  ],
};

const renderDoc: RouteDoc = {
  summary: "Confirm that an ad or a sponsored row is shown",
  description:
    "Your signed statement, within ten minutes of the pool or the search; once for each ad of a pool and each sponsored row of a search, and sent again it gets the first answer again. An ad is named by its render token, a row of a product search that has `sponsored: true` by the search's `retrieval_id` and its `record_id`. It answers the label to show with the ad, and the token with which a click is confirmed. If the ad must not be shown any more (its budget is spent, its advertiser took it back, that advertiser's certificate is not active any more, or a seal of ad or campaign does not stand any more), it is refused with `ad_unavailable` and costs nobody anything. Afterwards the ad is left out of the conversation's pools, and the product is not sponsored in its searches, for 60 minutes, unless its advertiser allows repeats. Another company's search is 404 `not_found`, like one that never was.",
  parameters: [mayRepeat, sandboxKey],
  body: renderRequest,
  answers: answeredWith("The render is confirmed", renderAnswer, ["Cache-Control"]),
  problems: [
    ...bodyProblems,
    "ad_token_invalid",
    "not_found",
    "ad_unavailable",
    "ad_expired",
    ...statementProblems,
  ],
};

const clickDoc: RouteDoc = {
  summary: "Confirm that an ad was followed",
  description:
    "Your signed statement, within 24 hours of the render; once for each ad, and sent again it gets the first answer again. The service is never in the redirect path: send readers straight to `destination_url`. A click of an ad whose seal does not stand any more is refused with `ad_unavailable`.",
  parameters: [mayRepeat, sandboxKey],
  body: clickRequest,
  answers: answeredWith("The click is confirmed", clickAnswer, ["Cache-Control"]),
  problems: [
    ...bodyProblems,
    "ad_token_invalid",
    "ad_not_rendered",
    "ad_unavailable",
    "ad_expired",
    ...statementProblems,
  ],
};

/** `POST /v1/ads/pool`, `/v1/ads/render` and `/v1/ads/click` (specification, «Ad pool item»). */
export function adRoutes(callers: Callers, ads: AdRoutesServices): readonly Route[] {
  const route = (name: string, doc: RouteDoc, answer: (call: SignedCall) => Promise<Outcome>): Route =>
    companyRoute(callers, "POST", `/v1/ads/${name}`, doc, {
      bytesMax: adRequestBytesMax,
      claimsMeanwhile: true,
      answer,
    });
  // A statement takes effect while the claim of its nonce is being committed, but only once the claim is decided: a refused one
  // costs nobody anything, whatever it states.
  const statement =
    (run: AdRoutesServices["render"]) =>
    async ({ authenticated, body, request }: SignedCall): Promise<Outcome> => {
      const { claimed, decided } = authenticated.claimNonce();
      const { refused: refusal } = await decided;
      if (refusal !== null) return refusal;
      const key = single(request.headers["idempotency-key"]);
      const outcome = await run({ caller: authenticated.caller, body, idempotencyKey: key });
      return (await claimed) ?? outcome;
    };
  return [
    route("pool", poolDoc, ({ authenticated, body }) => ads.pool({ authenticated, body })),
    route("render", renderDoc, statement(ads.render)),
    route("click", clickDoc, statement(ads.click)),
  ];
}

const publishDoc: RouteDoc = {
  summary: "Publish a sealed campaign, ad or sponsored product",
  description:
    "The exact bytes of a campaign (`svc/ad_campaign/1`), of an ad (`svc/ads/1`) or of a sponsored product (`svc/ad_product/1`), sealed alone with record type `ads` by a person's passkey or a hosted key of the business; any live integration key may deliver it. An ad names its campaign and the hashes of images that were sent before. Sent again, the document is answered with what it has become. Prices and budgets are in no answer.",
  parameters: [sandboxKey],
  body: sealedAdRequest,
  answers: answeredWith(
    "The campaign, the ad or the sponsored product as it is now",
    either(campaignAnswer, adAnswer),
  ),
  problems: [...bodyProblems, "seal_invalid", "campaign_refused", "business_not_verified", "not_found"],
};

const removeDoc: RouteDoc = {
  summary: "Withdraw or delete an ad or a sponsorship",
  description:
    "A sealed document `{record_id, action, at}`, with `action` `withdraw` or `delete`, as for records; its seal has record type `ads`. The ad leaves the pools of every region within seconds; a deleted one's bytes are purged, and its id is not used again.",
  parameters: [sandboxKey],
  body: adRemovalRequest,
  answers: answeredWith("The ad is out of serving", removedAdAnswer),
  problems: [...bodyProblems, "seal_invalid", "campaign_refused", "business_not_verified", "not_found"],
};

/** `POST /v1/ads/records` and `/v1/ads/remove`: campaigns, products and ads as sealed documents. */
export function adPublishingRoutes(callers: Callers, ads: AdPublishing): readonly Route[] {
  const route = <T>(
    name: string,
    doc: RouteDoc,
    shape: Shape<T>,
    answer: (body: T, businessUuid: string) => Promise<Outcome>,
  ): Route =>
    businessPush(callers, `/v1/ads/${name}`, doc, {
      bytesMax: verifyBytesMax,
      answer: async ({ authenticated, body }) => {
        const read = parseJsonBody(shape, body);
        return "kind" in read ? read : answer(read.value, authenticated.caller.party.uuid);
      },
    });
  return [
    route("records", publishDoc, sealedAdRequest, ({ record_base64: recordBase64, seal }, businessUuid) =>
      ads.publishAd({ businessUuid, recordBase64, seal }),
    ),
    route("remove", removeDoc, adRemovalRequest, (body, businessUuid) =>
      ads.removeAd({
        businessUuid,
        recordBase64: body.document_base64,
        seal: body.seal,
        campaignId: body.campaign_id,
      }),
    ),
  ];
}
