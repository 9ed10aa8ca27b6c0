import { expect, it } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import { isRefused } from "../../service/answer.ts";
import { createTestVectors } from "../../service/verification/published-reads.ts";
import { vectorFolder } from "./surfaces.ts";

it("every file of the release's vectors is what their index says, and can be served", async () => {
  const vectors = createTestVectors({ folder: vectorFolder(), sha256: nativeCrypto.sha256 });
  const index = await vectors.index(null);
  if (isRefused(index)) throw new Error(index.problem.detail);
  const { files } = JSON.parse(new TextDecoder().decode(index.bytes)) as {
    readonly files: readonly { readonly path: string; readonly sha256: string }[];
  };
  expect(files.length).toBeGreaterThan(10);
  expect(await vectors.index("markdown")).toMatchObject({ mediaType: "text/markdown; charset=utf-8" });
  for (const { path, sha256 } of files)
    expect(await vectors.file(path, sha256)).toMatchObject({ hash: `sha256:${sha256}` });
});
