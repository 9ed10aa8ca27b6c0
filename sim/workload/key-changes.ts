// What the people of a business do about its keys in the worlds where keys change: they register a successor while the other
// keys are still used, retire a key by revoking it, seal further mandates, some of which end soon, and revoke mandates.

import { formatTimestamp } from "../../protocol/identifiers.ts";
import { RegisterRefused } from "../../service/parties.ts";
import type { SimSigner } from "../crypto/sim-crypto.ts";
import { Random } from "../kernel/random.ts";
import { firstMandate, type MandateTerms, mandateOf, registerKey, type SimBusiness } from "../world/setup.ts";
import type { SimNode } from "../world/sim-node.ts";
import type { World } from "../world/world.ts";
import type { Journal } from "./journal.ts";
import { type KnownMandate, mandateNote } from "./key-standing.ts";

/** Share of the worlds where keys change. */
const share = 0.3;

/** Whether keys change in the world with this generator. */
export function keysChange(random: Random): boolean {
  return random.fork("keys change").chance(share);
}

/** The same of a seed's world. */
export function keysChangeIn(seed: number): boolean {
  return keysChange(Random.of(seed));
}

export interface KeyChangeParts {
  readonly world: World;
  readonly journal: Journal;
  readonly business: SimBusiness;
  readonly random: Random;
  /** Asks until there is an answer; null if there never is. */
  readonly insist: <T>(ask: (node: SimNode) => Promise<T>) => Promise<T | null>;
}

export async function changeKeys(parts: KeyChangeParts): Promise<void> {
  const { business, journal, random } = parts;
  const hasRotated =
    business.successor !== null && journal.standing.of(business.successor.keyId) !== undefined;
  const what = random.weighted({ rotate: hasRotated ? 0 : 3, renew: 3, revokeMandate: 2 });
  if (what === "rotate") await rotate(parts);
  else if (what === "renew") await renew(parts);
  else await revokeMandate(parts);
}

/** Registers the successor, with its mandate; the keys that it follows stay in force. */
async function rotate({ world, journal, business, insist }: KeyChangeParts): Promise<void> {
  const { uuid, successor: key } = business;
  if (key === null) return;
  const done = await insist((node) => registerKey(world.parts, node, { uuid, key }).then(() => true));
  if (done === null) return;
  journal.standing.noteRegistered({ keyId: key.keyId, untilMs: Infinity, mandates: [] });
  await seal({ world, journal, business, insist }, key, firstMandate(world.parts, key));
  world.observed.mark("key.rotated");
}

/** A further mandate of one of the keys. It may end soon, and it may begin only now. */
async function renew(parts: KeyChangeParts): Promise<void> {
  const { world, random } = parts;
  const key = random.pick(keysInUse(parts));
  const nowMs = world.parts.kernel.now();
  const first = firstMandate(world.parts, key);
  const fromMs = random.chance(0.5) ? nowMs : first.fromMs;
  const untilMs = random.chance(0.5) ? nowMs + random.between(2_000, 12_000) : first.untilMs;
  await seal(parts, key, { id: `mdt_${key.keyId}_${nowMs}`, fromMs, untilMs });
  world.observed.mark("mandate.renewed");
}

async function seal(
  { world, journal, business, insist }: Omit<KeyChangeParts, "random">,
  key: SimSigner,
  terms: MandateTerms,
): Promise<void> {
  const note = mandateNote(terms.id, terms.fromMs, terms.untilMs);
  journal.standing.of(key.keyId)?.mandates.push(note);
  const envelope = mandateOf(world.parts, { ...business, ...terms, key });
  const accepted = await insist((node) =>
    node.parties.acceptMandate(envelope).then(
      () => true,
      (error: unknown) => {
        // The key was revoked or has ended.
        if (error instanceof RegisterRefused) return false;
        throw error;
      },
    ),
  );
  if (accepted === true) note.acceptedAt = world.parts.kernel.events;
}

async function revokeMandate(parts: KeyChangeParts): Promise<void> {
  const { world, journal, business, random, insist } = parts;
  const key = random.pick(keysInUse(parts));
  const known = journal.standing.of(key.keyId)?.mandates ?? [];
  const live = known.filter(
    ({ acceptedAt, revokedFrom }) => acceptedAt < Infinity && revokedFrom === Infinity,
  );
  if (live.length === 0) return;
  const mandate: KnownMandate = random.pick(live);
  const { kernel } = world.parts;
  mandate.revokedFrom = kernel.events;
  const request = {
    ...{ uuid: business.uuid, mandate_id: mandate.id },
    revoked_at: formatTimestamp(kernel.now()),
  };
  const done = await insist((node) => node.parties.revokeMandate(request).then(() => true));
  if (done === null) return;
  mandate.revokedAt = kernel.events;
  world.observed.mark("mandate.revoked");
  await journal.revoked(key.keyId);
}

/** The keys that are registered, revoked or not. */
export function keysInUse({
  journal,
  business: { keys, successor },
}: Pick<KeyChangeParts, "journal" | "business">): readonly SimSigner[] {
  return successor !== null && journal.standing.of(successor.keyId) !== undefined
    ? [...keys, successor]
    : keys;
}
