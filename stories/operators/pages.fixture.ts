// The pages for people, as a browser gets them. For tests and for the pictures in docs.

import type { RunningNode } from "../../node/composition/start.ts";

export interface ShownPage {
  readonly name: string;
  readonly html: string;
}

/** The pages of a sandbox: a record, cited rightly and wrongly, its certificate, and what is not there. */
export async function readPages({
  urls,
  config,
  services,
  seeded,
}: RunningNode): Promise<readonly ShownPage[]> {
  const recordId = (await seeded)?.exampleRecordId ?? "";
  const served = await services.records.readServed(recordId);
  const origin = encodeURIComponent(served?.version.hash ?? "");
  const certificate = served?.version.cert_id ?? "";
  const read = async (name: string, path: string): Promise<ShownPage> => {
    const answer = await fetch(`${urls.verify_url}${path}`, { headers: { accept: "text/html" } });
    if (!answer.ok && name !== "not-found") throw new Error(`${path} answered ${answer.status}`);
    return { name, html: await answer.text() };
  };
  const record = `/v1/verify/${recordId}?origin=${origin}`;
  return [
    await read(
      "record",
      `${record}&cert=${encodeURIComponent(certificate)}&served_at=${new Date().toISOString()}`,
    ),
    await read("record-cited-wrongly", `${record}&cert=${encodeURIComponent(`sha256:${"0".repeat(64)}`)}`),
    await read("certificate", `/v1/certificates/${served?.version.business_uuid}`),
    await read("not-found", `/v1/certificates/00000000-0000-4000-8000-00000000dead`),
  ];
}
