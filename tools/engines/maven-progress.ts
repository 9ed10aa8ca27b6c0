// The progress of Maven, from its output while it downloads:
//   Progress (2): 4.1/18 kB | 0.5/99 MB      of everything in flight, repeatedly
//   Downloaded from …: … (18 kB at 108 kB/s) once a file is complete

/** Bytes as Maven counts them: powers of ten. */
const units: Readonly<Record<string, number>> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 };

const progressLine = /^Progress \(\d+\): (.*)$/;
const doneLine = /^Downloaded from .* \(([\d.]+) ([kMG]?B)(?: at .*)?\)$/;
const part = /^([\d.]+)(?:\/[\d.]+)? ([kMG]?B)$/;
/** Output that does not help to explain a failure. */
const noise = /^(?:\s*|Downloading from .*|\[INFO\].*)$/;

export class MavenProgress {
  #files = 0;
  #doneBytes = 0;
  #underWayBytes = 0;
  /** The start of an incomplete line: a line may arrive in two chunks. */
  #rest = "";

  /** Processes a chunk of the output; returns the part that may explain a failure. */
  take(chunk: string): string {
    const lines = (this.#rest + chunk).split(/[\r\n]/);
    this.#rest = lines.pop() ?? "";
    return lines
      .filter((line) => !this.#isProgress(line.trimEnd()))
      .map((line) => `${line}\n`)
      .join("");
  }

  /** The last, incomplete line. */
  rest(): string {
    return this.#rest;
  }

  /** For example `12 files, 41.3 MB`. */
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
