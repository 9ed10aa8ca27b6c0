// A process in place of the decoder's, which does to an image what its first byte says. For tests.

import type { DecodeRequest } from "./decoder-process.ts";

process.on("message", ({ bytes }: DecodeRequest) => {
  const [deed, ms = 0] = bytes;
  if (deed === 1) process.abort();
  if (deed === 2) process.exit(1);
  // Told by what is no size: which process it was.
  if (deed === 3)
    setTimeout(() => process.send?.({ ok: true, value: { width: process.pid, height: 1 } }), ms);
});
process.on("disconnect", () => process.exit(0));
