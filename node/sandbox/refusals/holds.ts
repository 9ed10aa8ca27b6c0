// Refusals of held pushes, which the owner of the business decides with the passkey in `sandbox.json`.

import { type Attempts, type Publisher, type Refused, refusedBy, type Trial, trialProduct } from "./trial.ts";

const listings = 20;

const priced = (index: number, amount: string): Uint8Array =>
  trialProduct(`tried-hold-${index}`, { prices: [{ country: "IE", currency: "EUR", amount }] });

/** Publishes twenty products, and then one of them at five times its price, which is held. */
async function holdPush(trial: Trial): Promise<{ readonly publisher: Publisher; readonly pushId: string }> {
  const { publisher } = await trial.everyday;
  const catalogue = Array.from({ length: listings }, (_, index) => priced(index, "19.00"));
  await trial.publish(publisher, catalogue);
  const { json } = await trial.publish(publisher, [priced(0, "95.00")]);
  return { publisher, pushId: String(json["batch_id"]) };
}

export const holdRefusals: Attempts = {
  "record/hold_rejected": async (trial): Promise<Refused> => {
    const { publisher, pushId } = await holdPush(trial);
    const { status, json } = await trial.decideHold(publisher, pushId, "reject");
    const results = json["results"] as readonly { readonly errors: readonly Refused[] }[] | undefined;
    const [fault] = (results ?? []).flatMap(({ errors }) => errors);
    return { status, code: String(fault?.code ?? ""), detail: String(fault?.detail ?? "") };
  },
  push_not_held: async (trial) => {
    const { publisher, pushId } = await holdPush(trial);
    await trial.decideHold(publisher, pushId, "reject");
    return refusedBy(await trial.decideHold(publisher, pushId, "confirm"));
  },
};
