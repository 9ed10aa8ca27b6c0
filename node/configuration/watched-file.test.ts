import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WatchedFile } from "./operator-files.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-watched-"));
});
afterAll(() => rm(folder, { recursive: true }));

it("is not taken over while it changes under its reader (W2)", async () => {
  const path = join(folder, "list.txt");
  await writeFile(path, "first");
  let duringLoad = async (): Promise<void> => {};
  const file = await WatchedFile.open<string>({
    setting: "SVC_LIST",
    path,
    describe: (value) => value,
    log: () => {},
    load: async () => {
      const text = await readFile(path, "utf8");
      await duringLoad();
      return text;
    },
  });
  await writeFile(path, "half of the sec");
  await file.look();
  duringLoad = () => writeFile(path, "half of the second");
  await file.look();
  expect([file.value, file.reloads, file.fault]).toEqual(["first", 0, null]);
  duringLoad = async () => {};
  await file.look();
  await file.look();
  expect([file.value, file.reloads]).toEqual(["half of the second", 1]);
});
