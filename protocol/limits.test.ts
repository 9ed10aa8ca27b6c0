import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const folders = ["protocol", "collections", "service", "client", "api", "ops", "cli", "verifier"];
/** The ways in which sources write the limits applied to requests. */
const limits = ["204_800", "204,800", "33_554_432", "286_720"];

it("each limit of a request stands in one place", () => {
  const found = folders.flatMap((folder) =>
    (readdirSync(folder, { recursive: true }) as string[])
      .map((name) => `${folder}/${name}`)
      .filter((path) => path.endsWith(".ts") && !/\.(test|fixture)\.ts$/.test(path))
      .filter((path) => path !== "protocol/limits.ts")
      .flatMap((path) => {
        const text = readFileSync(path, "utf8");
        return limits.filter((limit) => text.includes(limit)).map((limit) => `${path}: ${limit}`);
      }),
  );
  expect(found).toEqual([]);
});
