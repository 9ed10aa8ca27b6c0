// What each member of a read of the transparency log changes: all of it has a test of its own.

import type { Proof } from "../contract/request-effects.fixture.ts";

const shown = (title: string): Proof => ({ shownBy: `stories/verification/log.test.ts: ${title}` });
const inclusion = shown("contains the seal of a push, the business's keys and its certificate");
const receipt = shown("has a closed batch of receipts, and proves a receipt in two levels");
const growth = shown("only grows, and proves that an earlier checkpoint is its beginning");

export const logProofs: Readonly<Record<string, Proof>> = {
  "GET /v1/log/inclusion query leaf": inclusion,
  "GET /v1/log/inclusion query region": receipt,
  "GET /v1/log/inclusion query name": receipt,
  "GET /v1/log/consistency query first": growth,
  "GET /v1/log/consistency query second": growth,
  "GET /tile/{path} path path": shown(
    "is followed by its tiles alone, which hold its entries and give its root",
  ),
};
