// How far Maven is, from what it writes as it downloads:
//   Progress (2): 4.1/18 kB | 0.5/99 MB      of all that is under way, again and again
//   Downloaded from …: … (18 kB at 108 kB/s) once a file is there

/** Bytes as Maven counts them: powers of ten. */
const units: Readonly<Record<string, number>> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 };

const progressLine = /^Progress \(\d+\): (.*)$/;
const doneLine = /^Downloaded from .* \(([\d.]+) ([kMG]?B)(?: at .*)?\)$/;
const part = /^([\d.]+)(?:\/[\d.]+)? ([kMG]?B)$/;
/** What is no word on a failure. */
const noise = /^(?:\s*|Downloading from .*|\[INFO\].*)$/;

export class MavenProgress {
  #files = 0;
  #doneBytes = 0;
  #underWayBytes = 0;
  /** A line may come in two pieces. */
  #rest = "";

  /** Takes in what was written; answers what of it may explain a failure. */
  take(chunk: string): string {
    const lines = (this.#rest + chunk).split(/[\r\n]/);
    this.#rest = lines.pop() ?? "";
    return lines
      .filter((line) => !this.#isProgress(line.trimEnd()))
      .map((line) => `${line}\n`)
      .join("");
  }

  /** What came last without the end of its line. */
  rest(): string {
    return this.#rest;
  }

  /** `12 files, 41.3 MB`. */
  text(): string {
    const megabytes = (this.#doneBytes + this.#underWayBytes) / 1e6;
    return `${this.#files} ${this.#files === 1 ? "file" : "files"}, ${megabytes.toFixed(1)} MB`;
  }

  #isProgress(line: string): boolean {
    const progress = progressLine.exec(line)?.[1];
    if (progress !== undefined) {
      this.#underWayBytes = progress
        .split(" | ")
        .reduce((sum, each) => sum + bytesOf(part.exec(each.trim())), 0);
      return true;
    }
    const done = doneLine.exec(line);
    if (done !== null) {
      this.#files += 1;
      this.#doneBytes += bytesOf(done);
      this.#underWayBytes = 0;
      return true;
    }
    return noise.test(line);
  }
}

function bytesOf(match: RegExpExecArray | null): number {
  return match === null ? 0 : Number(match[1]) * (units[match[2] ?? ""] ?? 0);
}
