// Tables of the cluster store. Views and beats are agreed on within their region, homes and standings between all regions.

const compaction = "compaction = {'class': 'UnifiedCompactionStrategy'}";

/** After this time, beats of incarnations that are long gone are forgotten. */
const beatSeconds = 86_400;

export const clusterTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS region_view (region text PRIMARY KEY, version bigint, members text)
   WITH ${compaction}`,
  `CREATE TABLE IF NOT EXISTS region_beat (
     region text, incarnation text, count bigint, wall_ms bigint, homes_seen bigint,
     PRIMARY KEY (region, incarnation))
   WITH default_time_to_live = ${beatSeconds} AND gc_grace_seconds = 10800 AND ${compaction}`,
  `CREATE TABLE IF NOT EXISTS party_home (party text PRIMARY KEY, region text, moving_to text, version bigint)
   WITH ${compaction}`,
  // Homes that changed within the last day, all in one partition; `home` is one value, so a note never mixes two moves.
  `CREATE TABLE IF NOT EXISTS party_move (part text, party text, home text, PRIMARY KEY (part, party))
   WITH gc_grace_seconds = 10800 AND ${compaction}`,
  `CREATE TABLE IF NOT EXISTS region_standing (
     part text, region text, status text, successor text, version bigint, PRIMARY KEY (part, region))
   WITH ${compaction}`,
];
