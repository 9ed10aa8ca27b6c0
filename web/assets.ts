// The scripts and styles that pages of an application load: bundled once, when the first page needs them, and kept in memory.
// Sources run as they are, so there is nothing to build before a node starts.
//   WA1. The address of an asset has the hash of its content, so it may be kept for ever.
//   WA2. A page does not wait for a bundler that fails: it is shown as the server made it, without what is live.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export interface Asset {
  readonly path: string;
  readonly mediaType: string;
  readonly body: Buffer;
}

export interface Assets {
  readonly style: Asset;
  readonly icon: Asset;
  /** Null where it could not be bundled (WA2). */
  readonly script: Asset | null;
}

export interface AssetsOptions {
  /** The file of the script. */
  readonly entry: URL;
  /** Where the assets are answered, with a slash at the end. */
  readonly base: string;
  readonly failed: (error: unknown) => void;
}

/** The asset at a path; null where there is none. */
export function assetAt({ style, icon, script }: Assets, path: string): Asset | null {
  return [style, icon, script].find((each) => each?.path === path) ?? null;
}

/** Bundles with the first call, and answers the same afterwards. */
export function createAssets(options: AssetsOptions): () => Promise<Assets> {
  let made: Promise<Assets> | null = null;
  return () => {
    made ??= makeAssets(options);
    return made;
  };
}

async function makeAssets({ entry, base, failed }: AssetsOptions): Promise<Assets> {
  const style = assetOf({
    base,
    name: "style.css",
    mediaType: "text/css; charset=utf-8",
    text: applicationStyle,
  });
  const icon = assetOf({ base, name: "icon.svg", mediaType: "image/svg+xml", text: iconText });
  try {
    const script = {
      base,
      name: "app.js",
      mediaType: "text/javascript; charset=utf-8",
      text: await bundle(entry),
    };
    return { style, icon, script: assetOf(script) };
  } catch (error) {
    failed(error);
    return { style, icon, script: null };
  }
}

const iconText =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#0b4fb3"/>' +
  '<circle cx="5" cy="8" r="2" fill="#fff"/><circle cx="11" cy="8" r="2" fill="none" stroke="#fff"/></svg>';

const bundleMsMax = 60_000;
const scriptBytesMax = 8 * 2 ** 20;

/** In a process of its own, because a bundler keeps what it took in memory. */
async function bundle(entry: URL): Promise<string> {
  const files = [new URL("./bundler-process.ts", import.meta.url), entry].map((each) => fileURLToPath(each));
  const bounds = { timeout: bundleMsMax, maxBuffer: scriptBytesMax };
  return (await promisify(execFile)(process.execPath, files, bounds)).stdout;
}

interface AssetParts {
  readonly base: string;
  readonly name: string;
  readonly mediaType: string;
  readonly text: string;
}

function assetOf({ base, name, mediaType, text }: AssetParts): Asset {
  const body = Buffer.from(text);
  const hash = createHash("sha256").update(body).digest("hex").slice(0, 16);
  const at = name.lastIndexOf(".");
  return { path: `${base}${name.slice(0, at)}.${hash}${name.slice(at)}`, mediaType, body };
}

// The stylesheet of all pages: tokens first, then what a document needs.

function sheet(name: string): string {
  const text = readFileSync(new URL(`./style/${name}.css`, import.meta.url), "utf8");
  return text.replaceAll(/\/\*.*?\*\//gs, "").replaceAll(/\s*\n\s*/g, "");
}

/** For a page that is one column of text. */
export const documentStyle: string = sheet("tokens") + sheet("document");

/** For pages that are worked with: wide, dense, and live. */
const applicationStyle: string = documentStyle + sheet("application");
