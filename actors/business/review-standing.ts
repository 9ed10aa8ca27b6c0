// The review after something ended that seals of the business depend on: the AI policy in force, and every push whose records may be
// served, are judged again; what does not stand leaves serving in every region.
//   RS1. It may be repeated: what fell is not found again, and a record that was published again since is left as it is.
//   RS2. It judges by the register at its own time, which is that of the ending or later; a push that is given versions
//        meanwhile is judged there (S1 in standing.ts).
//   RS3. Records are looked through only where a push fell: the end of a key under which everything was received in time costs a
//        page of seals for every hundred pushes.

import { parseEnvelope } from "../../protocol/dsse.ts";
import { openSeal } from "../../protocol/seal.ts";
import type { AcceptedSeal, StandingFacts } from "../../verifier/standing.ts";
import { standingFault } from "../../verifier/standing.ts";
import type { KeyFacts, MandateFacts, PolicyFacts } from "../messages/business.ts";
import type { IssuanceStanding } from "../messages/standing.ts";
import type { ActivityContext } from "../system/definition.ts";
import { certificatesOf, policyKey, reviewedAtOnce, statedSeal } from "./standing.ts";

type Context = Pick<ActivityContext<"business">, "actor" | "ask">;

export async function reviewStanding(context: Context): Promise<null> {
  const entries = registerEntries(context);
  await reviewPolicies(context, entries);
  const fallen = await fallenSeals(context, entries);
  for (let after: string | null = fallen.size === 0 ? null : ""; after !== null; ) {
    const page = await context.ask(context.actor, { type: "live.list", after, limit: reviewedAtOnce });
    const records = page.records.filter(({ number, mandate = 0 }) => fallen.has(`${number}/${mandate}`));
    if (records.length > 0) await context.ask(context.actor, { type: "records.fall", records });
    after = page.next;
  }
  return null;
}

/** What does not stand: the numbers of pushes, each with the place of one of its mandates. */
async function fallenSeals(context: Context, entries: Entries): Promise<ReadonlySet<string>> {
  const fallen = new Set<string>();
  for (let [after, more] = [0, true]; more; ) {
    const page = await context.ask(context.actor, { type: "standing.read", after, limit: reviewedAtOnce });
    for (const { number, seal } of page.seals)
      for (const [at, mandate] of (seal.mandates.length === 0 ? [null] : seal.mandates).entries())
        if (!(await stands(statedSeal(seal, mandate), page.issuances, entries)))
          fallen.add(`${number}/${at}`);
    more = page.more;
    after = page.seals.at(-1)?.number ?? after;
  }
  return fallen;
}

async function reviewPolicies(context: Context, entries: Entries): Promise<void> {
  const { actor, ask } = context;
  const standing = await ask(actor, { type: "standing.read", after: 0, limit: 1 });
  const fallen: number[] = [];
  let version = standing.policy_version;
  for (; version > 0; version -= 1) {
    const policy = await entries<PolicyFacts>(policyKey(actor.id, version));
    const seal = policy === null ? null : policySeal(policy);
    if (
      policy?.fallen_at === undefined &&
      (seal === null || (await stands(seal, standing.issuances, entries)))
    )
      break;
    fallen.push(version);
  }
  if (fallen.length > 0) await ask(actor, { type: "policies.fall", fallen, in_force: version });
}

/** The seal of an AI policy, which no sidecar is about; the service received it when it came into force. Null for none that can be read. */
function policySeal({ seal, live_from }: PolicyFacts): AcceptedSeal | null {
  const parsed = parseEnvelope(JSON.parse(seal));
  const opened = parsed.ok ? openSeal(parsed.value) : parsed;
  if (!opened.ok) return null;
  const { key_id, cert_id, sealed_at } = opened.value;
  return { key_id, cert_id, sealed_at, received_at: live_from, mandate_id: null, isStated: false };
}

/** Reads an entry of the business's register by its name, once for a review. */
type Entries = <T>(name: string) => Promise<T | null>;

function registerEntries({ actor, ask }: Context): Entries {
  const read = new Map<string, unknown>();
  return async <T>(name: string): Promise<T | null> => {
    if (!read.has(name)) {
      const [entry] = (await ask(actor, { type: "register.read", keys: [name] })).entries;
      read.set(name, entry === undefined ? null : JSON.parse(entry.body));
    }
    return read.get(name) as T | null;
  };
}

async function stands(
  seal: AcceptedSeal,
  issuances: readonly IssuanceStanding[],
  entries: Entries,
): Promise<boolean> {
  const key = await entries<KeyFacts>(`key/${seal.key_id}`);
  const mandate = seal.mandate_id === null ? null : await mandateOf(seal.mandate_id, entries);
  return standingFault(seal, { key, certificates: certificatesOf(issuances), mandate }) === null;
}

async function mandateOf(id: string, entries: Entries): Promise<StandingFacts["mandate"]> {
  const mandate = await entries<MandateFacts>(`mandate/${id}`);
  const envelope = mandate === null ? null : parseEnvelope(JSON.parse(mandate.envelope));
  const sealedBy = envelope?.ok === true ? envelope.value.signatures[0]?.keyid : undefined;
  const sealer = sealedBy === undefined ? null : await entries<KeyFacts>(`key/${sealedBy}`);
  return mandate === null || sealer === null ? null : { ...mandate, sealer };
}
