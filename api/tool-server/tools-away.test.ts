// What the hosted tool server refuses because of time or room: a body that never arrives, and a session more than a node keeps.

import { afterAll, beforeAll, expect, it } from "vitest";
import { rawHead, sendRaw } from "../raw-request.fixture.ts";
import { openSurfaces, send, type TestSurfaces } from "../surfaces.fixture.ts";
import { createToolSessions, toolSessionLimits } from "./tool-sessions.ts";

const sessionsMax = 2;
let surfaces: TestSurfaces;
let nowMs = 0;

beforeAll(async () => {
  const limits = { ...toolSessionLimits, sessionsMax };
  surfaces = await openSurfaces(
    { bodyGraceMs: 300 },
    { toolSessions: createToolSessions(() => nowMs, limits) },
  );
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const path = "/v1/mcp/public";
const accept = "application/json, text/event-stream";
const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
const initialize = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
const open = () => send(surfaces.toolsUrl, null, { path, body: initialize, headers: { accept } });

it("a body that never arrives is 408, in the protocol's own form", async () => {
  const { host } = new URL(surfaces.toolsUrl);
  const headers = { host, accept, "content-type": "application/json", "content-length": "10" };
  const answer = await sendRaw(surfaces.toolsUrl, rawHead(`POST ${path}`, headers));
  expect([answer.status, answer.headers["connection"]]).toEqual([408, "close"]);
  expect(JSON.parse(answer.body)).toMatchObject({
    jsonrpc: "2.0",
    id: null,
    error: { code: -32_000, data: { status: 408, code: "request_timeout" } },
  });
});

it("one session more than a node keeps is 503 with Retry-After, and the others go on", async () => {
  expect(toolSessionLimits).toEqual({ idleMs: 1_800_000, sessionsMax: 10_000, perAddressMax: 1_000 });
  const opened = [await open(), await open()];
  expect(opened.map(({ status }) => status)).toEqual([200, 200]);
  const full = await open();
  expect(full).toMatchObject({ status: 503, json: { error: { code: -32_000, data: { status: 503 } } } });
  expect(full.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
  const session = { "mcp-session-id": opened[0]?.headers.get("mcp-session-id") ?? null };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" });
  const ping = () => send(surfaces.toolsUrl, null, { path, body, headers: { accept, ...session } });
  expect((await ping()).status).toBe(200);
  nowMs += toolSessionLimits.idleMs;
  expect((await open()).status).toBe(200);
  expect((await ping()).status).toBe(404);
});
