import { describe, expect, it } from "vitest";
import { createKeySetCache, keySetLifeMs } from "./setup.ts";

function cache() {
  const state = { nowMs: 0, reads: 0, isDown: false };
  const verificationRead = async () => {
    state.reads += 1;
    if (state.isDown) throw new Error("down");
    return { body: {}, text: `key set ${state.reads}`, status: 200, requestHash: null };
  };
  const read = createKeySetCache({ verificationRead }, () => state.nowMs);
  return { state, read: async () => new TextDecoder().decode(await read()) };
}

describe("the key set", () => {
  it("is read once in ten minutes, however many ask (K1)", async () => {
    const { state, read } = cache();
    expect(await Promise.all([read(), read()])).toEqual(["key set 1", "key set 1"]);
    state.nowMs = keySetLifeMs - 1;
    expect(await read()).toBe("key set 1");
    state.nowMs = keySetLifeMs;
    expect(await read()).toBe("key set 2");
    expect(keySetLifeMs).toBe(600_000);
  });

  it("stays in use while the service is away, and is asked for again (K2)", async () => {
    const { state, read } = cache();
    await read();
    Object.assign(state, { isDown: true, nowMs: keySetLifeMs });
    expect(await read()).toBe("key set 1");
    state.isDown = false;
    expect(await read()).toBe("key set 3");
  });

  it("is missing until it was read once", async () => {
    const { state, read } = cache();
    state.isDown = true;
    await expect(read()).rejects.toThrow("down");
    state.isDown = false;
    expect(await read()).toBe("key set 2");
  });
});
