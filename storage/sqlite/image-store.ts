// The images of ads in SQLite: the port's obligations I1–I6. The bytes of all images are counted in the transaction that
// adds or removes one, so the count is exact.

import type { ImageMediaType } from "../../protocol/image-type.ts";
import { assertImage, type ImageStore, type ImageStoreOptions } from "../image-store.ts";
import { bytesOf, numberOf, textOf } from "./columns.ts";
import type { SqliteDatabase } from "./database.ts";

const migrations = [
  `CREATE TABLE ad_image (
     sha256 TEXT PRIMARY KEY, media_type TEXT NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL,
     bytes BLOB NOT NULL, needed_at INTEGER NOT NULL);
   CREATE INDEX ad_image_needed ON ad_image (needed_at);
   CREATE TABLE ad_image_room (part INTEGER PRIMARY KEY, taken INTEGER NOT NULL);
   INSERT INTO ad_image_room (part, taken) VALUES (0, 0);`,
];

/** Opens the store in `database`, creating its tables if they are missing. */
export function openSqliteImageStore(
  database: SqliteDatabase,
  { bytesMax, now = Date.now }: ImageStoreOptions,
): ImageStore {
  database.migrate("image", migrations);
  const read = database.prepare("SELECT media_type, width, height, bytes FROM ad_image WHERE sha256 = ?");
  const size = database.prepare("SELECT length(bytes) AS size, needed_at FROM ad_image WHERE sha256 = ?");
  const room = database.prepare("SELECT taken FROM ad_image_room WHERE part = 0");
  const take = database.prepare("UPDATE ad_image_room SET taken = taken + ? WHERE part = 0");
  const put = database.prepare(
    "INSERT INTO ad_image (sha256, media_type, width, height, bytes, needed_at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const renew = database.prepare("UPDATE ad_image SET needed_at = max(needed_at, ?) WHERE sha256 = ?");
  const unneeded = database.prepare("SELECT sha256 FROM ad_image WHERE needed_at < ? LIMIT ?");
  const forget = database.prepare("DELETE FROM ad_image WHERE sha256 = ?");
  return {
    put: async (image) => {
      assertImage(image);
      const { sha256, mediaType, width, height, bytes } = image;
      return database.write(() => {
        if (renew.run(now(), sha256).changes > 0) return "stored";
        if (numberOf(room.get()?.["taken"]) + bytes.length > bytesMax) return "full";
        put.run(sha256, mediaType, width, height, bytes, now());
        take.run(bytes.length);
        return "stored";
      });
    },
    read: async (sha256) => {
      const row = read.get(sha256);
      if (row === undefined) return null;
      return {
        mediaType: textOf(row["media_type"]) as ImageMediaType,
        bytes: bytesOf(row["bytes"]),
        width: numberOf(row["width"]),
        height: numberOf(row["height"]),
      };
    },
    renew: (sha256) => database.write(() => renew.run(now(), sha256).changes > 0),
    unneeded: async (sinceMs, limit) => unneeded.all(sinceMs, limit).map((row) => textOf(row["sha256"])),
    forget: (sha256, unneededSinceMs = Number.POSITIVE_INFINITY) =>
      database.write(() => {
        const known = size.get(sha256);
        if (known === undefined || numberOf(known["needed_at"]) >= unneededSinceMs) return;
        forget.run(sha256);
        take.run(-numberOf(known["size"]));
      }),
  };
}
