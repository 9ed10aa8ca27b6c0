// Which test shows the effect of each member of a withdrawal or deletion.

const route = /^POST \/v1\/publish\/[a-z-]+\/(withdraw|delete) (.*)$/;
const file = "api/removal.test.ts";

export function removalProofs(
  members: readonly string[],
): Readonly<Record<string, { readonly shownBy: string }>> {
  const proofs: Record<string, { readonly shownBy: string }> = {};
  for (const key of members) {
    const member = route.exec(key)?.[2];
    if (member === undefined || member === "header SVC-Sandbox-Key") continue;
    proofs[key] = {
      shownBy:
        member === "header Idempotency-Key"
          ? `${file}: replays its answer under the same Idempotency-Key, which publishing may use as well`
          : `${file}: says what is wrong with its document or its seal, and changes nothing`,
    };
  }
  return proofs;
}
