// An actor as it is named in the terminal, and its address.

import { UsageError } from "../exit-codes.ts";

/** `kind/id`; ids may contain further slashes. Throws {@link UsageError}. */
export function actorAddress(text: string): string {
  const slash = text.indexOf("/");
  const [kind, id] = [text.slice(0, Math.max(0, slash)), text.slice(slash + 1)];
  if (kind === "" || id === "")
    throw new UsageError(
      `${JSON.stringify(text)} is not the name of an actor; use one such as push/UUID.PUSH_ID.`,
    );
  return `${encodeURIComponent(kind)}/${encodeURIComponent(id)}`;
}
