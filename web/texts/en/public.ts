// What the public pages say, in English.

import type { CertificateStatus } from "../../../protocol/keys/certificate.ts";
import type { VerifyPageAnswer } from "../../../protocol/wire/verification.ts";
import type { Tone } from "../../parts.ts";

type Checks = VerifyPageAnswer["checks"];
type Verdict = readonly [tone: Tone, heading: string, sentence: string];

/** On every page of a sandbox. */
export const sandbox: Verdict = [
  "warn",
  "Sandbox",
  "This is a page of a sandbox. It proves nothing outside the sandbox, where nobody was verified.",
];

const published = "The business published a record with this id and exactly these bytes";

const notStanding = `${published}, and its seal does not stand any more:`;

const verdicts: Readonly<Record<VerifyPageAnswer["status"], Verdict>> = {
  current: ["good", "Genuine and current", `${published}, and it is the version served now.`],
  superseded: ["good", "Genuine, and superseded", `${published}. A later version has replaced it.`],
  taken_down: [
    "warn",
    "Genuine, and taken down",
    `${published}. The operators of this service took it out of serving; that says nothing about its seal.`,
  ],
  withdrawn: ["warn", "Genuine, and withdrawn", `${published}. It is no longer served.`],
  deleted: [
    "warn",
    "Genuine, and deleted",
    `${published}. The record was deleted since: its bytes are no longer served, and will be erased.`,
  ],
  purged: [
    "warn",
    "Genuine, deleted and purged",
    `${published}. They were erased since: only their hash is kept.`,
  ],
  invalidated: ["bad", "Not valid", `${notStanding} it is out of serving.`],
};

/** By why it does not. */
const fallen = {
  compromised: (detail: string): Verdict => [
    "bad",
    "Do not rely on it: sealed with a key that was in other hands",
    `Somebody published a record with this id and exactly these bytes with a key of the business that was not in its hands alone. ${detail}`,
  ],
  certificate: (detail: string): Verdict => [
    "bad",
    "Not valid: the business was not verified when it was sealed",
    `${notStanding} ${detail}`,
  ],
  authority: (detail: string): Verdict => [
    "bad",
    "Not valid: its key was not authorised to publish it",
    `${notStanding} ${detail}`,
  ],
};

const cert: Readonly<Record<Checks["cert"], string>> = {
  matches: "matches the one that the seal names",
  differs: "differs from the one that the seal names",
  not_given: "not given",
};

const servedAt: Readonly<Record<Checks["served_at"], string>> = {
  within: "within the time in which this version was served",
  outside: "outside the time in which this version was served",
  unknown: "unknown: the version had just ended or was about to",
  not_given: "not given",
};

/** The verify page of a record. */
export const record = {
  title: (business: string) => `A record of ${business}`,
  verdicts,
  fallen,
  miscited: (sentence: string): Verdict => [
    "bad",
    "Genuine, but the citation is not valid",
    `${sentence} What was cited with it does not fit it.`,
  ],
  notFound: {
    title: "Not found",
    sentence: "No record with this id and these exact bytes is known.",
  },
  wrongAddress: {
    title: "The address is not complete",
    sentence: "Open the address again, whole, as it stands in the source line after “verify=”.",
  },
  about: {
    heading: "The record",
    record: "Record",
    type: "Type",
    hash: "Hash of its bytes",
    version: "Version",
    versionOf: (generation: number, status: string) => `Generation ${generation}, ${status}`,
    sealed: "Sealed by the business",
    published: "Published",
    servedUntil: "Served until",
    servedNow: "It is served now.",
    notKnown: "Not known.",
    certificate: "Sealed under certificate",
  },
  removal: {
    fallen: "The seal of that document does not stand any more",
    delete: { asOf: "Deleted as of", at: "Deleted at", by: "Deleted by a document sealed with" },
    withdraw: { asOf: "Withdrawn as of", at: "Withdrawn at", by: "Withdrawn by a document sealed with" },
  },
  words: {
    record: "What was sealed, in the words that were shown",
    removal: "What took it out of serving, in the words that were shown",
  },
  purgeOrder: {
    ground: "Erased because the law ordered it",
    at: "Ordered at",
    purgedAt: "Bytes erased everywhere at",
    notYet: "not yet",
  },
  business: {
    heading: "The business",
    name: "Name",
    id: "Identifier",
    certificate: "Certificate today",
    from: "In effect from",
    certificateId: "Its id",
    read: "Read it",
    history: "Certificate and its history",
  },
  cited: { heading: "What was cited", certificate: "Certificate", time: "Time of serving", cert, servedAt },
  endpoints: {
    heading: "Checkout, order, booking and API addresses",
    authorised: "The business authorises these addresses.",
    unconfirmed: [
      "warn",
      "It is not confirmed that these addresses are the business's",
      "The business names them. That it controls all of their domains was never confirmed.",
    ] as Verdict,
    suspended: [
      "bad",
      "Use none of these addresses: they are suspended",
      "Control of one of their domains was confirmed before, and is no longer.",
    ] as Verdict,
    domains: "Control of their domains",
    all: "All confirmed at",
    notAll: "Not all of them were ever confirmed.",
    since: " since ",
    never: " Never confirmed.",
    last: " Last confirmed ",
  },
  check: {
    heading: "Check it yourself",
    words:
      "A seal proves who published these bytes and when, not that they are true. This page is for people to read; its signed form is the JSON answer of this address.",
    sourceLine: "Source line",
    full: "Full check",
    at: "Checked",
  },
};

const standing: Readonly<Record<CertificateStatus, readonly [tone: Tone, heading: string]>> = {
  active: ["good", "Verified: the certificate is active"],
  closed: ["warn", "The company closed"],
  withdrawn: ["warn", "The verification was withdrawn"],
  revoked: ["bad", "The certificate was revoked"],
};

/** The page of a certificate. */
export const certificate = {
  notFound: {
    title: "No certificate",
    sentence: "No certificate was issued to this identifier.",
  },
  standing,
  about: {
    heading: "Who it is about",
    name: "Legal name",
    country: "Country",
    kind: "Kind",
    kinds: { business: "business", ai_company: "AI company" },
    id: "Identifier",
    since: "Verified since",
  },
  issuance: {
    heading: "The certificate",
    status: "Status",
    from: "In effect from",
    reason: "Reason",
    id: "Certificate",
    issued: "Issued",
  },
  history: {
    heading: "Its history",
    none: "There is no earlier certificate.",
    earlier: "Earlier certificates, the newest first.",
  },
  verify:
    "This page is for people to read. To verify the certificate, use its signed form in the JSON answer of this address.",
};

type Sentence = readonly [heading: string, sentence: string];

/** The page that verifies in the browser. What its script says is sent to it as JSON. */
export const verifier = {
  title: "Verify a receipt, a row or an evidence file",
  words:
    "Give this page an evidence file, a receipt, a row, or the answer of a search or a fetch, exactly as it was received. Statements of the service, mandates and decisions that a person sealed are judged as well, and a seal with its bytes as an object of business_uuid, record_base64 and seal.",
  noScript: [
    "Nothing can be verified without the script",
    "The verifier is the script of this page, and it does not run here. In a terminal, svc verify does the same.",
  ] as Sentence,
  form: {
    heading: "What is to be verified",
    file: "A file",
    text: "Or its text",
    button: "Verify",
  },
  trust: {
    heading: "What this rests on",
    words:
      "The trust anchors come with this page, so it is to be believed as far as this host is. The stronger check is svc verify with anchors that you pinned yourself: it needs neither this host nor this page.",
    leaves:
      "What you give stays in this browser. The page asks this host for its key set, and for what is published about the business that a fetched record or a sealed document names.",
    roots: "Compare the roots of this page with those that you pinned:",
    more: "The verifier",
  },
  result: {
    verified: ["Verified", "Every check was made and passed."] as Sentence,
    partly: [
      "Verified as far as it could be checked",
      "No check failed. What was not checked is named below.",
    ] as Sentence,
    refused: "Not verified",
    unread: {
      heading: "Nothing was verified",
      nothing: "Choose a file, or paste its text.",
      tooLarge: "The file has more than 8 MiB.",
      keys: "The key set of this host cannot be read. Try again.",
    },
    sealed: "What it says",
    receipt: {
      heading: "The receipt",
      who: "Served to the AI company",
      key: "Asked with the key",
      when: "Served at",
      region: "Region",
      kind: "What",
      retrieval: "Retrieval",
      records: "Records, with the hash of their bytes",
      none: "None.",
    },
    rows: { heading: "The rows", columns: ["Record", "Type", "Business", "Published", "Hash of its bytes"] },
    checks: {
      heading: "The checks",
      columns: ["Check", "Result", "Reason", "Detail"],
      states: { ok: "passed", failed: "failed", not_checked: "not checked", unsigned: "not signed" },
    },
  },
};
