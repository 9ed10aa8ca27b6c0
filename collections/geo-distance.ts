// The distance of two places on the earth, by which rows are filtered and sorted.

import type { GeoPoint } from "../storage/row-index.ts";

/** Mean radius of the earth (IUGG); Lucene, and therefore Elasticsearch, uses the same value. */
export const earthRadiusKm = 6371.0087714;

/** Great-circle distance on a sphere by the haversine formula. `near` includes places exactly at its radius. */
export function distanceKm(a: GeoPoint, b: GeoPoint): number {
  const [latA, latB] = [radians(a.lat), radians(b.lat)];
  const halfLat = Math.sin((latB - latA) / 2);
  const halfLng = Math.sin(radians(b.lng - a.lng) / 2);
  const h = halfLat * halfLat + Math.cos(latA) * Math.cos(latB) * halfLng * halfLng;
  return 2 * earthRadiusKm * Math.asin(Math.min(1, Math.sqrt(h)));
}

export function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}
