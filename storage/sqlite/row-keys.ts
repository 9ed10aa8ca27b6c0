// Keys: short tokens by which rows are found for exact values and for places. A key may match more than was requested
// (hashes collide, cells are coarse), but never less: a look-up by keys is always followed by a check of the columns.

import { earthRadiusKm, radians } from "../../collections/geo-distance.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import type { GeoPoint } from "../row-index.ts";

/**
 * Side lengths of the cells in degrees, with the mark of their tokens. Fine cells are for a town, coarse ones for a
 * country.
 */
const cellSizes = [
  { mark: "0", degrees: 0.5 },
  { mark: "1", degrees: 8 },
] as const;
/** Maximum number of cells used to look up one circle. */
const cellsMax = 64;

/** Cache size for recently built keys, of values up to a maximum length: most rows share their keys with others. */
const keysMax = 4_096;
const keptLengthMax = 64;
const made = new BoundedMap<string, string>(keysMax);

/** The key of a value of the field with this one-letter mark: lower-case letters and digits. */
export function valueKey(mark: string, value: string): string {
  if (value.length > keptLengthMax) return makeKey(mark, value);
  const name = mark + value;
  const known = made.get(name);
  if (known !== undefined) return known;
  const key = makeKey(mark, value);
  made.set(name, key);
  return key;
}

function makeKey(mark: string, value: string): string {
  // Two multiplicative 32-bit hashes over UTF-16 code units.
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let index = 0; index < value.length; index += 1) {
    const unit = value.charCodeAt(index);
    a = Math.imul(a ^ unit, 0x9e3779b1);
    b = Math.imul(b ^ unit, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ Math.imul(b ^ (b >>> 13), 0xc2b2ae35);
  b = Math.imul(b ^ (b >>> 16), 0x85ebca6b) ^ Math.imul(a ^ (a >>> 13), 0xc2b2ae35);
  return `${mark}${((a >>> 0) * 0x200000 + ((b >>> 0) & 0x1fffff)).toString(36)}`;
}

/** Keys of the cells that contain a point of the field, one for each cell size. */
export function pointKeys(mark: string, point: GeoPoint): readonly string[] {
  return cellSizes.map(({ mark: size, degrees }) => {
    return cellKey(mark + size, rowOf(point.lat, degrees), columnOf(point.lng, degrees));
  });
}

/** Keys of cells that together cover a circle; null if that would take too many. */
export function circleKeys(
  mark: string,
  circle: { readonly point: GeoPoint; readonly radiusKm: number },
): readonly string[] | null {
  const box = boxOf(circle.point, circle.radiusKm);
  if (box === null) return null;
  for (const { mark: size, degrees } of cellSizes) {
    const [top, bottom] = [rowOf(box.latMax, degrees), rowOf(box.latMin, degrees)];
    const left = Math.floor((box.lngMin + 180) / degrees);
    const right = Math.floor((box.lngMax + 180) / degrees);
    if ((top - bottom + 1) * (right - left + 1) > cellsMax) continue;
    const keys = new Set<string>();
    for (let row = bottom; row <= top; row += 1) {
      for (let column = left; column <= right; column += 1)
        keys.add(cellKey(mark + size, row, wrap(column, degrees)));
    }
    return [...keys];
  }
  return null;
}

interface Box {
  readonly latMin: number;
  readonly latMax: number;
  /** May be outside -180 to 180 if the box crosses the date line. */
  readonly lngMin: number;
  readonly lngMax: number;
}

/** Slightly larger than the circle, so that rounding cannot exclude its edge. */
const slack = 1e-6;

/** Smallest latitude/longitude box around a circle; null if a pole is inside. */
function boxOf({ lat, lng }: GeoPoint, radiusKm: number): Box | null {
  const angle = radiusKm / earthRadiusKm;
  const latReach = (angle * 180) / Math.PI + slack;
  if (Math.abs(lat) + latReach >= 90) return null;
  const lngReach = (Math.asin(Math.sin(angle) / Math.cos(radians(lat))) * 180) / Math.PI + slack;
  return { latMin: lat - latReach, latMax: lat + latReach, lngMin: lng - lngReach, lngMax: lng + lngReach };
}

function rowOf(lat: number, degrees: number): number {
  return Math.floor((lat + 90) / degrees);
}

function columnOf(lng: number, degrees: number): number {
  return wrap(Math.floor((lng + 180) / degrees), degrees);
}

function wrap(column: number, degrees: number): number {
  const columns = 360 / degrees;
  return ((column % columns) + columns) % columns;
}

function cellKey(mark: string, row: number, column: number): string {
  return `${mark}x${row}x${column}`;
}
