// How a test signs in: with a name and the operators' token. For tests.

/** The value of Authorization (RFC 7617). */
export function signedIn(token: string, by = "Ada at the desk"): string {
  return `Basic ${Buffer.from(`${by}:${token}`).toString("base64")}`;
}
