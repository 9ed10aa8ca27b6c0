// What the lock file must state about every package, so that nothing is installed that npm could not verify.

export interface LockEntry {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Faults in `packages` of a package-lock.json (lockfileVersion 3), one sentence each. The project has the empty path. */
export function lockFaults(packages: Readonly<Record<string, LockEntry>>): readonly string[] {
  return Object.entries(packages).flatMap(([path, entry]) =>
    path === "" ? [] : [...entryFaults(path, entry), ...missingFaults(path, entry, packages)],
  );
}

/** Packages for other platforms must be listed as well, otherwise `npm ci` refuses the file. */
function missingFaults(
  path: string,
  { optionalDependencies = {} }: LockEntry,
  packages: Readonly<Record<string, LockEntry>>,
): readonly string[] {
  return Object.entries(optionalDependencies)
    .filter(([name, version]) => {
      const found = foundFrom(path, name, packages);
      // Ranges are left to npm; packages for platforms are named exactly.
      return found === undefined || (/^[0-9]/.test(version) && found.version !== version);
    })
    .map(([name, version]) => `${path} names ${name} ${version}, which is not in the file.`);
}

/** Searches as Node does: in this folder, then in each one above it. */
function foundFrom(
  path: string,
  name: string,
  packages: Readonly<Record<string, LockEntry>>,
): LockEntry | undefined {
  for (let at: string = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    const found = packages[`${at === "" ? "" : `${at}/`}node_modules/${name}`];
    if (found !== undefined || at === "") return found;
  }
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
