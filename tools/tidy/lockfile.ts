// What the lock file must say of every package, so that nothing is installed that npm could not compare.

export interface LockEntry {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}

/** Faults of `packages` of a package-lock.json (lockfileVersion 3), one sentence each. The project itself has the empty path. */
export function lockFaults(packages: Readonly<Record<string, LockEntry>>): readonly string[] {
  return Object.entries(packages).flatMap(([path, entry]) => (path === "" ? [] : entryFaults(path, entry)));
}

function entryFaults(path: string, entry: LockEntry): readonly string[] {
  const faults: string[] = [];
  if (entry.link === true) faults.push(`${path} is a link to a folder; name a published version.`);
  if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(entry.integrity ?? "")) {
    faults.push(`${path} has no SHA-512 integrity; choose a version that the registry states one for.`);
  }
  if (entry.resolved !== undefined) faults.push(`${path} names where it was fetched; leave «resolved» out.`);
  if (entry.hasInstallScript === true) faults.push(`${path} runs a script when it is installed.`);
  return faults;
}
