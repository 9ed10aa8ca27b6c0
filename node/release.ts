// The release of the program, as its package says.

import manifest from "../package.json" with { type: "json" };

export const release: string = manifest.version;
