// The two things that our pages do with `cqlsh`, for machines that lack it: one statement whose result is printed, or a file of
// statements. Usage: node tools/engines/cqlsh.ts ADDRESS DATA_CENTRE (-e STATEMENT | -f FILE)

import { readFile } from "node:fs/promises";
import { createCqlClient } from "./cassandra.ts";

const [address = "", dataCenter = "", option, given = ""] = process.argv.slice(2);
const client = createCqlClient({ address, dataCenter });
try {
  if (option === "-e") {
    const { rows } = await client.execute(given);
    // A statement that defines something has no rows.
    const lines = (rows ?? []).map((row) => String(row["create_statement"] ?? JSON.stringify(row)));
    if (lines.length > 0) console.log(lines.join("\n\n"));
  } else {
    const statements = (await readFile(given, "utf8")).split(/;\s*$/m).map((each) => each.trim());
    for (const statement of statements.filter((each) => each !== "")) await client.execute(statement);
  }
} finally {
  await client.shutdown();
}
