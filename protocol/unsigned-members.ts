// The members of answers that no signature covers and that nothing signed gives. It is the whole list: a verifier compares every other
// member with what was signed, and names these in its report. The published schemas and the envelope specification say the same of them.

import { described, type Shape } from "./shape.ts";

interface UnsignedMember {
  readonly answer: AnswerName;
  /** RFC 6901 pointer; `*` stands for each item of a list. */
  readonly member: string;
  readonly why: string;
}

export type AnswerName = "search" | "shown_price" | "fetch" | "ad_pool" | "ad_item" | "catalogue";

export const unsignedMembers = [
  {
    answer: "search",
    member: "/rows/*/ai_policy_bits",
    why: "they are set when the row is served; only their form is checked, and that they are not of an older AI policy than the row. A fetch has the sealed AI policy",
  },
  {
    answer: "search",
    member: "/rows/*/sponsored",
    why: "it is set when the row is served",
  },
  {
    answer: "shown_price",
    member: "/row/ai_policy_bits",
    why: "they are set when the row is served; only their form is checked, and that they are not of an older AI policy than the row",
  },
  {
    answer: "shown_price",
    member: "/row/sponsored",
    why: "it is set when the row is served",
  },
  {
    answer: "shown_price",
    member: "/source_line",
    why: "nothing signed names the host of its address; everything else in it is compared",
  },
  {
    answer: "fetch",
    member: "/endpoints/status",
    why: "it is set when the record is served. The signed answer of `GET /v1/verify/{record_id}` has it too",
  },
  {
    answer: "fetch",
    member: "/provenance/certificate_url",
    why: "nothing signed names the host; it is compared only with an address that the verifier was given",
  },
  {
    answer: "fetch",
    member: "/provenance/source_line",
    why: "nothing signed names the host of its address; it is compared only with an address that the verifier was given",
  },
  {
    answer: "ad_pool",
    member: "/subdivision",
    why: "the receipt names the country only",
  },
  {
    answer: "ad_item",
    member: "/creative/images/*/url",
    why: "a picture is known by its hash, wherever it comes from",
  },
  { answer: "ad_item", member: "/net_price", why: "it is an offer of the service" },
  {
    answer: "ad_item",
    member: "/keyword_matches",
    why: "it is counted when the ad is served",
  },
  {
    answer: "ad_item",
    member: "/render_token",
    why: "only the service can read it",
  },
  {
    answer: "ad_item",
    member: "/row/ai_policy_bits/action",
    why: "the service may withhold the bit `purchase`; every other bit follows from the sealed AI policy",
  },
  {
    answer: "catalogue",
    member: "/record_id",
    why: "only the service can derive it from the business's own id, which is sealed",
  },
  {
    answer: "catalogue",
    member: "/live_in",
    why: "it is asked of each region when it is answered",
  },
  {
    answer: "catalogue",
    member: "/last_updated",
    why: "the answer has no sidecar. That of a fetch has it",
  },
  {
    answer: "catalogue",
    member: "/source",
    why: "the answer has no sidecar. That of a fetch has it",
  },
] as const satisfies readonly UnsignedMember[];

type Listed = (typeof unsignedMembers)[number];

/** The members of an answer that are on the list. */
export type UnsignedName<A extends AnswerName> = Extract<Listed, { readonly answer: A }>["member"];

/** The sentence that reports and schemas say of a member on the list. */
export function whyUnsigned<A extends AnswerName>(answer: A, member: UnsignedName<A>): string {
  const listed = unsignedMembers.find((each) => each.answer === answer && each.member === member);
  if (listed === undefined) throw new Error(`${member} of ${answer} is not on the list.`);
  return `No signature covers it: ${listed.why}.`;
}

/** The shape of a member on the list, with what its schema says of it. */
export function unsigned<S extends Shape<unknown>, A extends AnswerName>(
  answer: A,
  member: UnsignedName<A>,
  { shape, says = "" }: { readonly shape: S; readonly says?: string },
): S {
  return described(shape, `${says} ${whyUnsigned(answer, member)}`.trim());
}
