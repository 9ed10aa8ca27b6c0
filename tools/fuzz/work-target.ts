// How much work one body makes between two looks at the time (std/work.ts). The input says what the body is made of, over and over, up to
// what its route takes: the first byte which, the rest the part that is repeated, with `#` for its number. What comes nearer to the
// bound is kept and mutated further. What follows on a body that is accepted, work-of-accepted.full.test.ts counts on a whole node; images,
// signatures and messages of the tool server are not counted here.

import { parseSearchRequest } from "../../collections/search-request.ts";
import { parseAdProduct, parseCampaign } from "../../protocol/ad-campaign.ts";
import { parseUtf8 } from "../../protocol/bytes.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { parseStrictJson } from "../../protocol/json/strict-json.ts";
import {
  adRequestBytesMax,
  bulkFileBytesMax,
  grantBytesMax,
  recordCharactersMax,
  requestBytesMax,
  verifyBytesMax,
  withdrawalsBytesMax,
} from "../../protocol/limits.ts";
import { acceptedPhrases, fullRecord } from "../../protocol/records/full-records.fixture.ts";
import { judgeAd, judgeRecord, judging } from "../../protocol/records/judge-record.ts";
import { type ContentLists, noBrands, noCertifiedNames } from "../../protocol/records/name-index.ts";
import { sampleAd, sampleRecords } from "../../protocol/records/records.fixture.ts";
import type { Shape } from "../../protocol/shape.ts";
import {
  adRemovalRequest,
  clickRequest,
  poolRequest,
  renderRequest,
  sealedAdRequest,
} from "../../protocol/wire/ad-requests.ts";
import { grantQuestion } from "../../protocol/wire/grant.ts";
import { holdBody } from "../../protocol/wire/push.ts";
import { removalBody, withdrawalsBody } from "../../protocol/wire/removal.ts";
import { verifyRequest } from "../../protocol/wire/verify.ts";
import { isRefused, parseJsonBody } from "../../service/answer.ts";
import { RecordLines } from "../../service/publishing/bulk-file.ts";
import { parsePublishBody } from "../../service/publishing/publish-batch.ts";
import { inSteps, observeWork, type Pace, workCosts, workMsMax } from "../../std/work.ts";
import { type FuzzTarget, must } from "./target.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const nanosecondsPerMs = 1_000_000;
const recordBytesMax = (recordCharactersMax / 4) * 3;
/** Of a batch or file whose every part is worked on alike. */
const manyBytes = 500_000;
const pieceBytes = 65_536;

const names = { protectedNames: [{ name: "Apple", owners: [] }], exemptNames: [] };
const lists: ContentLists = { ...names, blockedHosts: ["blocked.example"], certified: noCertifiedNames };
const rules = { countries: [["US", "CA"]], lists, ownNames: [], brands: noBrands };

/** The form of a seal is all that is read of it here. */
const envelope = JSON.stringify({
  payloadType: "application/vnd.svc.batch-seal.v2+json",
  payload: "e30=",
  signatures: [{ keyid: "k".repeat(43), sig: "AAAA" }],
});

interface Kind {
  readonly name: string;
  /** The body around the repeated part. */
  readonly around: readonly [string, string];
  readonly bytesMax: number;
  readonly run: (body: Uint8Array, pace: Pace) => unknown;
}

/** A record of which every text repeats the part, as long as its type lets it be: one that may be published, unless its words may not. */
const fullKind = (collection: CollectionName): Kind => ({
  name: `full ${collection}`,
  around: ["", ""],
  bytesMax: 200,
  run: (body, pace) => {
    const phrase = parseUtf8(body)?.replaceAll(/[\p{Cc}]/gu, " ") || "a";
    const record = fullRecord(collection, "full", { phrase, share: 1 });
    return inSteps(judging(record, { ...rules, collection }), pace);
  },
});

/** A body that is a JSON document of a shape. */
const shapeKind = (name: string, shape: Shape<object>, bytesMax: number): Kind => ({
  name,
  around: ["{", '"":0}'],
  bytesMax,
  run: (body) => parseJsonBody(shape, body),
});

const kinds: readonly Kind[] = [
  {
    name: "product",
    around: ['{"schema":"svc/products/1",', '"":0}'],
    bytesMax: recordBytesMax,
    run: (body) => judgeRecord(body, { ...rules, collection: "products" }),
  },
  {
    name: "ad",
    around: ['{"schema":"svc/ads/1",', '"":0}'],
    bytesMax: recordBytesMax,
    run: (body) => judgeAd(body, rules),
  },
  {
    // As many as there may be.
    name: "prices",
    around: ['{"schema":"svc/products/1","prices":[', "{}]}"],
    bytesMax: 8_000,
    run: (body) => judgeRecord(body, { ...rules, collection: "products" }),
  },
  {
    name: "text",
    around: ['{"short_description":"', '"}'],
    bytesMax: recordBytesMax,
    run: (body) => judgeRecord(body, { ...rules, collection: "products" }),
  },
  {
    name: "batch",
    around: [`{"batch_seal":${envelope},"records":[`, '"e30="]}'],
    bytesMax: manyBytes,
    run: async (body, pace) => {
      const parsed = await parsePublishBody(body, pace);
      if (isRefused(parsed)) return;
      for (const record of parsed.records) {
        await pace();
        judgeRecord(record, { ...rules, collection: "products" });
      }
    },
  },
  {
    name: "file",
    around: ["", "e30="],
    bytesMax: Math.min(bulkFileBytesMax, manyBytes),
    run: async (body, pace) => {
      const lines = new RecordLines();
      for (let from = 0; from < body.length; from += pieceBytes)
        for (const record of lines.take(body.subarray(from, from + pieceBytes))) {
          if (isRefused(record)) return;
          await pace();
        }
    },
  },
  {
    name: "verify",
    around: ['{"record_base64":"e30=","seal":{', '"":0}}'],
    bytesMax: verifyBytesMax,
    run: (body) => parseJsonBody(verifyRequest, body),
  },
  {
    name: "search",
    around: ['{"collection":"products","filter":{"all":[', "{}]}}"],
    bytesMax: requestBytesMax,
    run: (body) => {
      const json = parseStrictJson(body, { depthMax: 8 });
      if (json.ok) parseSearchRequest(json.value);
    },
  },
  ...collectionNames.map(fullKind),
  shapeKind("pool", poolRequest, adRequestBytesMax),
  shapeKind("render", renderRequest, adRequestBytesMax),
  shapeKind("click", clickRequest, adRequestBytesMax),
  shapeKind("sealed ad", sealedAdRequest, verifyBytesMax),
  shapeKind("removed ad", adRemovalRequest, verifyBytesMax),
  shapeKind("removal", removalBody, requestBytesMax),
  shapeKind("withdrawals", withdrawalsBody, withdrawalsBytesMax),
  shapeKind("hold", holdBody, requestBytesMax),
  shapeKind("grant", grantQuestion, grantBytesMax),
  {
    name: "campaign",
    around: ['{"schema":"svc/ad_campaign/1",', '"":0}'],
    bytesMax: recordBytesMax,
    run: parseCampaign,
  },
  {
    name: "ad product",
    around: ['{"schema":"svc/ad_product/1",', '"":0}'],
    bytesMax: recordBytesMax,
    run: parseAdProduct,
  },
];

/** The part so often that the body is as long as it may be. */
function bodyOf({ around: [front, back], bytesMax }: Kind, part: string): Uint8Array {
  const room = bytesMax - front.length - back.length;
  const bytes = Math.max(1, utf8(part).length + 3 * (part.split("#").length - 1));
  const parts = Array.from({ length: Math.max(1, Math.floor(room / bytes)) }, (_, index) =>
    part.replaceAll("#", index.toString(36).padStart(4, "0")),
  );
  return utf8(`${front}${parts.join("")}${back}`);
}

/** The most work between two looks, in milliseconds by {@link workCosts}. */
async function mostWorkMs(run: (pace: Pace) => unknown): Promise<number> {
  let [since, most] = [0, 0];
  const look = (): null => {
    most = Math.max(most, since);
    since = 0;
    return null;
  };
  observeWork((kind, times) => {
    since += workCosts[kind] * times;
  });
  try {
    await run(look);
  } finally {
    observeWork(null);
  }
  look();
  return most / nanosecondsPerMs;
}

const seedOf = (kind: string, part: string): Uint8Array =>
  utf8(`${String.fromCharCode(kinds.findIndex(({ name }) => name === kind))}${part}`);
const members = (record: object): string => `${JSON.stringify(record).slice(1, -1)},`;

export const work: FuzzTarget = {
  name: "work-between-looks",
  seeds: [
    seedOf("product", members(sampleRecords.products)),
    seedOf("product", '"#abcd":1,'),
    seedOf("product", '"countries":["#"],"prices":[{"country":"US"}],'),
    seedOf("ad", members(sampleAd)),
    seedOf("ad", '"#":[{}],'),
    seedOf("prices", '{"country":"QQ","currency":"QQQ"},'),
    seedOf("text", "ignore # others, "),
    seedOf("text", "\u0430pple Ltd https://shop.example/# "),
    seedOf("batch", `"${utf8(JSON.stringify(sampleRecords.products)).toBase64()}",`),
    seedOf("batch", '"\\u0041AAA",[{}],'),
    seedOf("file", `${utf8(JSON.stringify(sampleRecords.products)).toBase64()}\n`),
    seedOf("file", "e30=\n"),
    seedOf("verify", '"#":[[[0]]],'),
    seedOf("search", '{"brand":{"in":["#"]}},'),
    ...collectionNames.flatMap((name) => acceptedPhrases.map((each) => seedOf(`full ${name}`, each))),
    seedOf("pool", '"keywords":["#"],'),
    seedOf("withdrawals", '"withdrawals":[{}],'),
    seedOf("ad product", '"countries":["#"],'),
  ],
  words: '# " , : [ ] {} \\u0041 \\ud83d\\ude00 "#":0, "countries":["US"], availab GmbH а'.split(" "),
  check: async (input) => {
    const kind = kinds[(input[0] ?? 0) % kinds.length] as Kind;
    const body = bodyOf(kind, new TextDecoder().decode(input.subarray(1)));
    const ms = await mostWorkMs((pace) => kind.run(body, pace));
    must(ms < workMsMax, `a body for ${kind.name} makes ${ms.toFixed(1)} ms of work at a stretch`);
    return `${kind.name} ${Math.round(4 * Math.log2(ms + 0.001))}`;
  },
};
