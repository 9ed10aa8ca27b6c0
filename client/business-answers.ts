// What the service answers about a business's own data, as documented in its OpenAPI document.

import type { Of } from "../protocol/shape.ts";
import type { catalogueRecord } from "../protocol/wire/catalogue.ts";
import type { DomainsAnswer } from "../protocol/wire/domains.ts";
import type { HeldPushes } from "../protocol/wire/push.ts";

/** A sealed document, such as a decision about a hold. */
export type { Envelope } from "../protocol/dsse.ts";
export type { AdImage } from "../protocol/wire/ad-images.ts";
export type { DailyAnalytics, Demand, WhoIsAsking } from "../protocol/wire/analytics.ts";
export type { AttemptsPage, PushAttempt } from "../protocol/wire/attempts.ts";
export type { CatalogueEntry, CataloguePage } from "../protocol/wire/catalogue.ts";
export type { RemovalAnswer as RemovalOutcome, WithdrawalsAnswer } from "../protocol/wire/removal.ts";
export type { ValidationOutcome } from "../protocol/wire/validation.ts";

export type { DomainsAnswer };
export type OwnDomain = DomainsAnswer["domains"][number];
export type HeldPush = HeldPushes["holds"][number];
export type { HeldPushes };

/** GET /v1/catalogue/{record_id}. The record's exact text is in the answer's text. */
export type CatalogueRecord = Of<typeof catalogueRecord>;
