// Which test shows the effect of each member of a withdrawal or deletion, and of what is delivered sealed.

const routes = [
  {
    path: /^POST \/v1\/publish\/[a-z-]+\/(?:withdraw|delete) (.*)$/,
    file: "api/removal.test.ts",
    replayed: "replays its answer under the same Idempotency-Key, which publishing may use as well",
    judged: "says what is wrong with its document or its seal, and changes nothing",
  },
  {
    path: /^POST \/v1\/withdrawals (.*)$/,
    file: "api/withdrawals.test.ts",
    replayed: "takes records of any type out of serving, and answers each in its place",
    judged: "refuses what is wrong with one, and does the others",
  },
  {
    path: /^POST \/v1\/(?:publish\/[a-z-]+\/record|ai-policies) (.*)$/,
    file: "api/sealed-alone.test.ts",
    replayed: "is published, whatever its type, and answered again: %s",
    judged: "is refused for another type, other bytes and another business's route",
  },
  {
    path: /^POST \/v1\/mandates (.*)$/,
    file: "api/sealed-mandates.test.ts",
    replayed: "lets the very key publish that delivers it, and is answered again",
    judged: "changed after sealing, or with another's signature, is refused",
  },
  {
    path: /^POST \/v1\/key-custody (.*)$/,
    file: "api/custody-requests.test.ts",
    replayed: "is answered with the statement, which is published, and answered again",
    judged: "changed after sealing, or in another envelope, is refused",
  },
];

export function removalProofs(
  members: readonly string[],
): Readonly<Record<string, { readonly shownBy: string }>> {
  const proofs: Record<string, { readonly shownBy: string }> = {};
  for (const key of members) {
    for (const { path, file, replayed, judged } of routes) {
      const member = path.exec(key)?.[1];
      if (member === undefined || member === "header SVC-Sandbox-Key") continue;
      proofs[key] = { shownBy: `${file}: ${member === "header Idempotency-Key" ? replayed : judged}` };
    }
  }
  return proofs;
}
