// A9: snapshots of every released schema version can be read, and a shape never changes under the same version.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { goldenLives } from "./golden.fixture.ts";

const golden = (kind: string, version: number): unknown =>
  JSON.parse(readFileSync(new URL(`golden/${kind}.v${version}.json`, import.meta.url), "utf8"));

describe.each(goldenLives.map((life) => [life.name ?? life.definition.kind, life] as const))(
  "%s",
  (kind, { definition, live }) => {
    it("still writes the snapshots of its schema version", () => {
      const { snapshot } = live();
      const persisted = JSON.parse(JSON.stringify(definition.machine.getPersistedSnapshot(snapshot)));
      expect(
        persisted,
        "a changed shape needs a raised schemaVersion, an upgrade and a new golden file",
      ).toEqual(golden(kind, definition.schemaVersion));
    });

    it("reads every released version", () => {
      for (let version = 1; version <= definition.schemaVersion; version += 1) {
        let snapshot = golden(kind, version);
        for (let step = version; step < definition.schemaVersion; step += 1)
          snapshot = definition.upgrade?.[step]?.(snapshot);
        const restored = definition.machine.resolveState(rubbish(snapshot));
        const { snapshot: lived } = live();
        expect(restored.value).toEqual(lived.value);
        expect(restored.context).toEqual(lived.context);
      }
    });
  },
);
