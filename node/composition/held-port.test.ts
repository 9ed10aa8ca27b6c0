import { connect } from "node:net";
import fastify from "fastify";
import { expect, it } from "vitest";
import { holdPort } from "./start.ts";

function connected(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  return new Promise((resolve) => {
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? ""));
    socket.on("end", () => resolve("hung up"));
    socket.resume();
  });
}

it("holds a port from the first moment on, hangs up on early callers, and gives it to a surface (P1, P2)", async () => {
  const held = await holdPort("127.0.0.1", 0);
  expect(held.port).toBeGreaterThan(0);
  await expect(holdPort("127.0.0.1", held.port)).rejects.toMatchObject({ code: "EADDRINUSE" });
  expect(await connected(held.port)).toMatch(/hung up|ECONNRESET/);
  const surface = fastify();
  surface.get("/", () => "here");
  await held.giveTo(surface);
  await held.release();
  expect(surface.server.address()).toMatchObject({ port: held.port });
  expect(await (await fetch(`http://127.0.0.1:${held.port}/`)).text()).toBe("here");
  await expect(holdPort("127.0.0.1", held.port)).rejects.toMatchObject({ code: "EADDRINUSE" });
  await surface.close();
  expect(await connected(held.port)).toBe("ECONNREFUSED");
});

it("serves on every address of localhost", async () => {
  const held = await holdPort("localhost", 0);
  const surface = fastify();
  surface.get("/", () => "here");
  await held.giveTo(surface);
  expect(await (await fetch(`http://localhost:${held.port}/`)).text()).toBe("here");
  expect(await (await fetch(`http://127.0.0.1:${held.port}/`)).text().catch(() => "none")).toBe("here");
  await surface.close();
  expect(await connected(held.port)).toBe("ECONNREFUSED");
});

it("gives back a port that no surface took", async () => {
  const held = await holdPort("127.0.0.1", 0);
  await held.release();
  expect(await connected(held.port)).toBe("ECONNREFUSED");
  await (await holdPort("127.0.0.1", held.port)).release();
});
