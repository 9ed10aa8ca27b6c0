// Histories of keys, pushes and businesses against what one actor at a time could have answered.

import type { World } from "../world/world.ts";

export function checkHistories(_world: World): void {}
