// A form that an authenticator answers: the page's script asks it, puts its answer into the form, and sends it.

import { type ComponentChild, h } from "preact";
import { toBase64Url, utf8 } from "../../protocol/bytes.ts";
import type { IssuedChallenge } from "../../service/portal/challenges.ts";
import type { ReadyToSeal } from "../../service/portal/sealing.ts";
import { english } from "../../web/texts/catalogue.ts";
import { type PortalPlace, passkeyAlgorithms } from "../authenticators.ts";
import { wording } from "../language.ts";
import { hiddenFields } from "./frame.ts";

const texts = () => wording().portal;
const timeoutMs = 5 * 60_000;

export interface Ceremony extends IssuedChallenge {
  readonly action: string;
  readonly button: string;
  readonly fields?: Readonly<Record<string, string>>;
}

/** Asks for an assertion, with any passkey of the portal or with one of those that are named. */
export function assertionForm(
  { rpId }: PortalPlace,
  { challenge, ...ceremony }: Ceremony & { readonly credential_ids?: readonly string[] },
): ComponentChild {
  const allowCredentials = (ceremony.credential_ids ?? []).map((id) => ({ id, type: "public-key" }));
  const options = { challenge, rpId, allowCredentials, timeout: timeoutMs, userVerification: "required" };
  return ceremonyForm("get", options, ceremony);
}

/** What is about to be sealed, word by word, and the form by which a passkey seals exactly that or has it sealed. */
export function sealingCard(
  place: PortalPlace,
  { words, challenge, ticket, credential_ids, isHosted, ...shown }: ReadyToSeal,
  {
    title,
    back,
    fields,
    ...form
  }: Omit<Ceremony, "challenge" | "ticket"> & { readonly title: string; readonly back: string },
): ComponentChild {
  const sealing = { ...form, fields: { ...fields, ...shown }, challenge, ticket };
  return h(
    "section",
    { class: "card" },
    h("h1", null, title),
    h("p", null, isHosted ? texts().hostedWords : texts().sealWords),
    h("pre", { tabIndex: 0, lang: english.language }, words.join("\n")),
    translation(words),
    assertionForm(place, { ...sealing, credential_ids }),
    h("p", null, h("a", { href: back }, texts().doNothing)),
  );
}

/** The words in the language of the page, beside those that are sealed. */
function translation(words: ReadyToSeal["words"]): ComponentChild {
  const translated = wording().sealedWords?.(words);
  return translated === undefined
    ? null
    : [h("p", null, texts().sealTranslation), h("pre", { tabIndex: 0 }, translated.join("\n"))];
}

/** Asks for a new passkey; unless `isFound` is false, one that the authenticator finds by itself (a discoverable credential). */
export function creationForm(
  { rpId }: PortalPlace,
  {
    challenge,
    ...ceremony
  }: Ceremony & {
    /** Under what the authenticator keeps it, and what it calls it. */
    readonly user: { readonly id: string; readonly name: string };
    /** Passkeys whose authenticators make no second one. */
    readonly known?: readonly string[];
    /** Whether the authenticator finds it by itself, as for signing in. */
    readonly isFound?: boolean;
  },
): ComponentChild {
  const { user, known = [], isFound = true } = ceremony;
  const options = {
    challenge,
    rp: { id: rpId, name: texts().brand },
    user: { id: toBase64Url(utf8(user.id)), name: user.name, displayName: user.name },
    pubKeyCredParams: passkeyAlgorithms.map((alg) => ({ alg, type: "public-key" })),
    timeout: timeoutMs,
    attestation: "none",
    excludeCredentials: known.map((id) => ({ id, type: "public-key" })),
    authenticatorSelection: {
      residentKey: isFound ? "required" : "discouraged",
      requireResidentKey: isFound,
      userVerification: "required",
    },
  };
  return ceremonyForm("create", options, ceremony);
}

function ceremonyForm(
  kind: "get" | "create",
  options: object,
  ceremony: Omit<Ceremony, "challenge">,
): ComponentChild {
  const { action, button, ticket, fields = {} } = ceremony;
  return h(
    "form",
    { method: "post", action, "data-ceremony": kind, "data-options": JSON.stringify(options) },
    hiddenFields({ ...fields, ticket, credential: "" }),
    h("p", null, h("button", { type: "submit" }, button)),
    h("noscript", null, h("p", { class: "bad" }, texts().needsScript)),
    h("p", { role: "alert", hidden: true, class: "badge bad" }, texts().noAnswer),
  );
}
