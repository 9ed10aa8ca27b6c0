// What of a file could not be mapped, and why: grouped for the screen, and in full in a report file.

import { type FileHandle, open } from "node:fs/promises";
import type { FeedItem, FeedNote } from "../../client/feeds/feed-item.ts";
import type { LiveProduct } from "../../client/push-plan.ts";
import type { PlacedFaults } from "./push-faults.ts";

interface Group extends Pick<FeedNote, "effect" | "attribute" | "code" | "detail"> {
  /** The file that has the places; empty where there is only one. */
  readonly file: string;
  /** The first value of the group. */
  readonly value: string;
  readonly places: number[];
  count: number;
}

const groupsMax = 500;
const groupsShownMax = 20;
const placesKeptMax = 8;
const pendingLinesMax = 1_000;

const effects = {
  item_left_out: "left out",
  attribute_left_out: "the attribute was left out",
  value_changed: "the value was changed",
  value_kept: "published as it is",
} as const;

export class FeedReport implements AsyncDisposable {
  readonly #groups = new Map<string, Group>();
  readonly #file: FileHandle | null;
  #pending: string[] = [];
  #otherNotes = 0;
  /** The file that is being read, where there are several. */
  source = "";
  /** Items that were read, and those of them that cannot be published. */
  items = 0;
  leftOut = 0;
  /** Own ids of the items that were left out, other than as expired: the file has them all the same. */
  readonly leftOutIds = new Set<string>();
  /** Items whose own id could not be read. */
  unnamed = 0;

  private constructor(file: FileHandle | null) {
    this.#file = file;
  }

  /** With a path, every note is written there as a line of JSON. */
  static async open(path: string | null): Promise<FeedReport> {
    return new FeedReport(path === null ? null : await open(path, "w", 0o600));
  }

  async add({ place, id, bytes, notes }: FeedItem): Promise<void> {
    this.items += 1;
    if (bytes === null) this.leftOut += 1;
    if (id === null) this.unnamed += 1;
    else if (bytes === null && !hasExpired(notes)) this.leftOutIds.add(id);
    await this.#addNotes({ place, id, notes });
  }

  /** A product of several files that are joined: `isLeftOut` if it cannot be published. */
  async addJoined(product: Pick<FeedItem, "place" | "id" | "notes">, isLeftOut: boolean): Promise<void> {
    if (isLeftOut) this.leftOut += 1;
    if (isLeftOut && product.id !== null) this.leftOutIds.add(product.id);
    await this.#addNotes(product);
  }

  async #addNotes({ place, id, notes }: Pick<FeedItem, "place" | "id" | "notes">): Promise<void> {
    const file = this.source === "" ? {} : { file: this.source };
    for (const note of notes) {
      this.#count(note, place);
      if (this.#file !== null) this.#pending.push(`${JSON.stringify({ ...file, place, id, ...note })}\n`);
    }
    if (this.#pending.length >= pendingLinesMax) await this.#flush();
  }

  /** A record that was read and is not valid, or that the service rejects: its faults are shown elsewhere, and written here. */
  async addFaults({ place, id, errors }: PlacedFaults & { readonly id: string | null }): Promise<void> {
    if (this.#file === null) return;
    for (const { pointer, code, detail, suggestion, value = null } of errors) {
      const fault = { effect: "record_faulty", attribute: pointer, value: value ?? "", code, detail };
      this.#pending.push(
        `${JSON.stringify({ place, id, ...fault, ...(suggestion ? { suggestion } : {}) })}\n`,
      );
    }
    if (this.#pending.length >= pendingLinesMax) await this.#flush();
  }

  /** A live product that the file does not have. */
  async addMissing({ business_product_id: id, record_id }: LiveProduct): Promise<void> {
    const why = { effect: "not_in_file", attribute: "", value: record_id, code: "not_in_file" };
    if (this.#file !== null) this.#pending.push(`${JSON.stringify({ place: 0, id, ...why, detail: "" })}\n`);
    if (this.#pending.length >= pendingLinesMax) await this.#flush();
  }

  /** The file cannot be read on from `place`. */
  addRefusal(place: number, detail: string): void {
    const why = { effect: "file_refused", attribute: "", value: "", code: "syntax_invalid", detail };
    if (this.#file !== null) this.#pending.push(`${JSON.stringify({ place, id: null, ...why })}\n`);
  }

  #count({ effect, attribute, code, detail, value }: FeedNote, place: number): void {
    const file = this.source;
    const key = JSON.stringify([file, effect, attribute, code, detail]);
    const known = this.#groups.get(key);
    if (known === undefined && this.#groups.size >= groupsMax) {
      this.#otherNotes += 1;
      return;
    }
    const group = known ?? { file, effect, attribute, code, detail, value, places: [], count: 0 };
    // The same twice in one place is said once.
    if (group.places.at(-1) === place) return;
    group.count += 1;
    if (group.places.length < placesKeptMax) group.places.push(place);
    this.#groups.set(key, group);
  }

  /** What prevents items from being published first, then the most frequent. */
  #sorted(): readonly Group[] {
    const rank = (group: Group): number => Object.keys(effects).indexOf(group.effect);
    return [...this.#groups.values()].sort((a, b) => rank(a) - rank(b) || b.count - a.count);
  }

  lines(placeName: "line" | "item"): readonly string[] {
    const sorted = this.#sorted();
    const lines = sorted
      .slice(0, groupsShownMax)
      .flatMap((group) => [
        `${group.attribute === "" ? placeName : group.attribute}: ${group.detail} (${group.code}, ${effects[group.effect]})`,
        `  ${group.file === "" ? "" : `${group.file}: `}${placeName}${group.count === 1 ? "" : "s"} ${placesText(group)}${group.value === "" ? "" : `, such as ${JSON.stringify(group.value)}`}`,
      ]);
    const hidden = this.#otherNotes + sorted.slice(groupsShownMax).reduce((sum, { count }) => sum + count, 0);
    return hidden === 0 ? lines : [...lines, `and ${hidden} other notes; --report FILE writes all of them`];
  }

  /** The groups as events for a program. */
  events(): readonly string[] {
    return this.#sorted().map(({ file, ...group }) =>
      JSON.stringify({ type: "feed.note", ...(file === "" ? {} : { file }), ...group }),
    );
  }

  async #flush(): Promise<void> {
    const lines = this.#pending.splice(0);
    if (lines.length > 0) await this.#file?.appendFile(lines.join(""));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#flush();
    await this.#file?.close();
  }
}

/** What has expired is no longer offered, which is no fault of the file. */
function hasExpired(notes: readonly FeedNote[]): boolean {
  const reasons = notes.filter(({ effect }) => effect === "item_left_out");
  return reasons.length > 0 && reasons.every(({ code }) => code === "expired");
}

function placesText({ places, count }: Group): string {
  const more = count - places.length;
  return `${places.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
