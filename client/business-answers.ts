// What the service answers about a business's own data, as documented in its OpenAPI document.

import type { Of } from "../protocol/shape.ts";
import type { catalogueRecord } from "../protocol/wire/catalogue.ts";
import type { DomainsAnswer, HeldPushes } from "../protocol/wire/push.ts";

/** A sealed document, such as a decision about a hold. */
export type { Envelope } from "../protocol/dsse.ts";
export type { AdImage } from "../protocol/wire/ad-requests.ts";
export type { DailyAnalytics, Demand, WhoIsAsking } from "../protocol/wire/analytics.ts";
export type { ValidationOutcome } from "../protocol/wire/bulk.ts";
export type { AttemptsPage, CatalogueEntry, CataloguePage, PushAttempt } from "../protocol/wire/catalogue.ts";
export type { RemovalAnswer as RemovalOutcome, WithdrawalsAnswer } from "../protocol/wire/removal.ts";

export type { DomainsAnswer };
export type OwnDomain = DomainsAnswer["domains"][number];
export type HeldPush = HeldPushes["holds"][number];
export type { HeldPushes };

/** GET /v1/catalogue/{record_id}. The record's exact text is in the answer's text. */
export type CatalogueRecord = Of<typeof catalogueRecord>;
