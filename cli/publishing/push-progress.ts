// What a running push reports: a progress bar for a person at a screen, otherwise plain lines, or NDJSON for a program.

import type { PushEvent } from "../../client/push-run.ts";
import type { Terminal } from "../terminal.ts";

export type ProgressStyle = "people" | "json" | "quiet";

const barWidth = 24;
/** A rate over less time than this says little about what is left. */
const rateAfterMs = 2_000;
const toldEveryMs = 10_000;

interface Tally {
  readonly settled: number;
  readonly published: number;
  readonly rejected: number;
}

/** Creates a handler that takes the events of one push, in order. */
export function createPushProgress(
  terminal: Terminal,
  style: ProgressStyle,
  now: () => number,
): (event: PushEvent) => void {
  if (style === "json") return (event) => terminal.print(JSON.stringify(event));
  if (style === "quiet") return () => {};
  const progress = new PushProgress(terminal, now);
  return (event) => progress.take(event);
}

class PushProgress {
  readonly #terminal: Terminal;
  readonly #now: () => number;
  readonly #tallies = new Map<number, Tally>();
  #total = 0;
  #batches = 0;
  #settledBefore = 0;
  #startedMs = 0;
  #toldMs = 0;

  constructor(terminal: Terminal, now: () => number) {
    this.#terminal = terminal;
    this.#now = now;
  }

  take(event: PushEvent): void {
    const terminal = this.#terminal;
    const plain = (line: string): void => {
      if (!terminal.isWatched) terminal.note(line);
    };
    switch (event.type) {
      case "push.opened":
        this.#open(event);
        break;
      case "batch.uploading":
        plain(`Uploading ${records(event.records)} as one file.`);
        this.#show(`uploading ${records(event.records)}`);
        break;
      case "batch.uploaded":
        this.#show("uploaded");
        break;
      case "batch.sealed":
        if (event.sealed_again) terminal.note(`Batch ${event.batch + 1} was sealed again.`);
        this.#show(`sealed ${this.#name(event.batch)}`);
        break;
      case "batch.sent":
        plain(`Sent ${this.#name(event.batch)}: ${records(event.records)}.`);
        this.#show(`sent ${this.#name(event.batch)}`);
        break;
      case "batch.progress": {
        const { accepted, updated, rejected } = event.counts;
        this.#tallies.set(event.batch, { settled: event.settled, published: accepted + updated, rejected });
        this.#show(this.#name(event.batch));
        this.#tellNowAndThen();
        break;
      }
      case "batch.finished": {
        const { accepted, updated, rejected, state } = event.result;
        this.#tallies.set(event.batch, { settled: event.records, published: accepted + updated, rejected });
        plain(`${capital(this.#name(event.batch))}: ${state}.`);
        this.#show(`${this.#name(event.batch)} ${state}`);
        break;
      }
      case "waiting":
        plain(`Waiting ${event.seconds} s: ${event.reason}`);
        this.#show(`waiting ${event.seconds} s: ${event.reason}`);
        break;
    }
  }

  #open(event: Extract<PushEvent, { readonly type: "push.opened" }>): void {
    this.#total = event.records;
    this.#batches = event.batches;
    this.#settledBefore = event.settled_records;
    this.#startedMs = this.#now();
    this.#toldMs = this.#startedMs;
    if (event.settled_batches > 0)
      this.#terminal.note(`Continuing: ${event.settled_batches} of ${event.batches} batches are done.`);
  }

  #name(batch: number): string {
    // A bulk file that the service did not take became several batches.
    this.#batches = Math.max(this.#batches, batch + 1);
    return `batch ${batch + 1} of ${this.#batches}`;
  }

  #show(what: string): void {
    this.#terminal.status(`${bar(this.#share())} ${this.#state()}  ${what}`);
  }

  /** Where nobody watches a bar: a line every now and then. */
  #tellNowAndThen(): void {
    if (this.#terminal.isWatched || this.#now() - this.#toldMs < toldEveryMs) return;
    this.#toldMs = this.#now();
    this.#terminal.note(`${this.#state()}.`);
  }

  #settled(): number {
    return [...this.#tallies.values()].reduce((total, each) => total + each.settled, 0);
  }

  #share(): number {
    return this.#total === 0 ? 0 : (this.#settledBefore + this.#settled()) / this.#total;
  }

  #state(): string {
    const tallies = [...this.#tallies.values()];
    const sum = (name: keyof Tally): number => tallies.reduce((total, each) => total + each[name], 0);
    const done = this.#settledBefore + this.#settled();
    const counted = sum("published") + sum("rejected") > 0;
    return [
      `${number(done)} of ${number(this.#total)}`,
      ...(counted ? [`${number(sum("published"))} published, ${number(sum("rejected"))} rejected`] : []),
      ...this.#pace(this.#settled(), this.#total - done),
    ].join("  ");
  }

  /** Records a second since the start of this run, and the time that the rest takes at that pace. */
  #pace(settled: number, left: number): readonly string[] {
    const elapsedMs = this.#now() - this.#startedMs;
    if (settled === 0 || elapsedMs < rateAfterMs) return [];
    const perSecond = (settled * 1000) / elapsedMs;
    const pace = `${number(Math.round(perSecond))}/s`;
    return left === 0 ? [pace] : [`${pace}, ${duration(left / perSecond)} left`];
  }
}

export function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.ceil(whole / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function bar(share: number): string {
  const filled = Math.round(barWidth * Math.min(1, share));
  return `[${"#".repeat(filled)}${"-".repeat(barWidth - filled)}]`;
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

function records(count: number): string {
  return `${number(count)} ${count === 1 ? "record" : "records"}`;
}

export function number(value: number): string {
  return value.toLocaleString("en");
}
