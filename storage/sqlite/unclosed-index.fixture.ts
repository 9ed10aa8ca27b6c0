// A process that applies to a row index and searches it, reports when that is done, and neither waits for it nor closes anything.

import { recordIdFor } from "../row-index.fixture.ts";
import { SqliteRowIndex } from "./row-index.ts";
import { tell } from "./tell.fixture.ts";

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error("usage: unclosed-index.fixture.ts <file>");
const index = new SqliteRowIndex(path);
const record_id = recordIdFor("products", 1, 1);
void index
  .apply([{ kind: "remove", collection: "products", record_id, change: 1 }])
  .then(async (outcomes) => tell(`${outcomes} ${await index.count("products")}\n`));
