import { describe, expect, it, test } from "vitest";
import {
  blockedInText,
  blockedOfMember,
  blockedUrls,
  canonicalHost,
  parseBlocked,
  punycode,
} from "./url-rule.ts";

const entries = [
  "bad.example",
  "*.tenants.example",
  "https://sites.example/phish",
  "http://ports.example:8080/",
  "https://query.example/view?id=5",
  "bücher-betrug.example",
  "203.0.113.7",
  "2001:db8::bad",
];
const blocked = [blockedUrls(entries.map((entry) => parseBlocked(entry) ?? `refused ${entry}`))];

describe("a blocked address", () => {
  it.each([
    ["its host", "https://bad.example/", "bad.example"],
    ["a subdomain", "https://a.b.bad.example/x", "bad.example"],
    ["letter case", "HTTPS://BAD.Example/x", "bad.example"],
    ["a dot at the end", "https://bad.example./x", "bad.example"],
    ["two dots at the end", "https://bad.example../x", "bad.example"],
    ["a port", "https://bad.example:8443/x", "bad.example"],
    ["user information", "https://good.example@bad.example/", "bad.example"],
    ["user information with a slash look", "https://good.example%2f@bad.example/", "bad.example"],
    ["a password", "https://good.example:443@bad.example:444/", "bad.example"],
    ["backslashes", "https:\\\\bad.example\\x", "bad.example"],
    ["one slash", "https:/bad.example/x", "bad.example"],
    ["no scheme", "//bad.example/x", "bad.example"],
    ["percent encoding in the host", "https://b%61d.example/", "bad.example"],
    ["full width letters", "https://ｂａｄ．example/", "bad.example"],
    ["an ideographic full stop", "https://bad。example/", "bad.example"],
    ["an invisible letter", "https://b\u00adad.example/", "bad.example"],
    ["a tenant", "https://a.tenants.example/", "*.tenants.example"],
    ["a prefix", "https://sites.example/phish", "sites.example/phish"],
    ["below a prefix", "http://sites.example:81/phish/login", "sites.example/phish"],
    ["a prefix with a query", "https://sites.example/phish?x=1", "sites.example/phish"],
    ["a prefix behind dots", "https://sites.example/a/../phish", "sites.example/phish"],
    ["a prefix behind encoded dots", "https://sites.example/a/%2e%2E/ph%69sh", "sites.example/phish"],
    ["a port of its own", "http://ports.example:8080/x", "ports.example/"],
    ["a query", "https://query.example/view?id=5&from=mail", "query.example/view?id=5"],
    ["Unicode", "https://shop.bücher-betrug.example/", "xn--bcher-betrug-dlb.example"],
    ["Punycode", "https://XN--bcher-betrug-dlb.example/", "xn--bcher-betrug-dlb.example"],
    ["an IPv4 address", "http://203.0.113.7/x", "203.0.113.7"],
    ["a number", "http://3405803783/", "203.0.113.7"],
    ["hexadecimal", "http://0xCB.0x0.0x71.0x7/", "203.0.113.7"],
    ["octal", "http://0313.0.0161.07/", "203.0.113.7"],
    ["two parts", "http://203.28935/", "203.0.113.7"],
    ["an IPv6 address", "http://[2001:DB8:0::bad]:80/", "[20010db8000000000000000000000bad]"],
    ["an address in a query", "https://ok.example/?to=https://bad.example/x", "bad.example"],
    ["an escaped address", "https://ok.example/r?to=https%3A%2F%2Fbad.example%2Fx", "bad.example"],
    ["an address escaped twice", "https://ok.example/r?to=https%253A%252F%252Fbad.example", "bad.example"],
    ["a mailbox", "help@bad.example", "bad.example"],
    ["a host", "shop.bad.example", "bad.example"],
  ])("is found by %s", (_what, text, found) => {
    expect(blockedOfMember(text, blocked)).toBe(found);
    expect(blockedInText(`See ${text} now`, blocked)).toBe(text.startsWith("//") ? found : found);
  });

  it.each([
    ["another host of the domain", "https://bad2.example/"],
    ["a host that ends alike", "https://notbad.example/"],
    ["a host that begins alike", "https://bad.example.org/"],
    ["the host in a path", "https://ok.example/bad.example"],
    ["the host above the tenants", "https://tenants.example/"],
    ["another path", "https://sites.example/phishing"],
    ["the host of a prefix", "https://sites.example/"],
    ["a subdomain of a prefix", "https://a.sites.example/phish"],
    ["another port", "http://ports.example/x"],
    ["another query", "https://query.example/view?id=55"],
    ["another number", "http://3405803784/"],
    ["a user of that name", "https://bad.example@ok.example/"],
    ["what is no host", "https://999.0.113.7.7.7/"],
    ["nothing", ""],
  ])("is not %s", (_what, text) => {
    expect(blockedOfMember(text, blocked)).toBeNull();
  });

  it.each([
    ["See bad.example.", "bad.example"],
    ["See (https://bad.example/win), today!", "bad.example"],
    ["«bad.example/win»", "bad.example"],
    ["write to win@bad.example, please", "bad.example"],
    ["at www.bad.example: win", "bad.example"],
    ["win:http://203.0.113.7", "203.0.113.7"],
    ["https://sites.example/phish.", "sites.example/phish"],
    ["a 0.5 mm, e.g. for bad. example", null],
    ["The end.Then more", null],
    ["3.95 by 3.98 by 2.43 mm", null],
  ])("is found in a text: %s", (text, found) => {
    expect(blockedInText(text, blocked)).toBe(found);
  });
});

test.each([
  ["Bad.Example.", "bad.example"],
  ["*.Bad.example", "*.bad.example"],
  ["https://Bad.example", "bad.example/"],
  ["https://bad.example:0443/a/./b/../c?q=%41", "bad.example:443/a/c?q=%41"],
  ["http://[::1]:80/x", "[1]:80/x"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["0xCB007107", "203.0.113.7"],
  ["com", null],
  ["*.com", null],
  ["*.203.0.113.7", null],
  ["bad.example/path", null],
  ["https://user@bad.example/", null],
  ["ftp://bad.example/", null],
  ["bad example.org", null],
  ["", null],
  ["https://", null],
])("the entry %s is read as %s", (entry, canonical) => {
  expect(parseBlocked(entry)).toBe(canonical);
});

// RFC 3492 §7.1 (A), (B), (L), and two names in use.
test.each([
  ["ليهمابتكلموشعربي؟", "egbpdaj6bu4bxfgehfvwxn"],
  ["他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"],
  ["3年b組金八先生", "3b-ww4c5e180e575a65lsy2b"],
  ["bücher", "bcher-kva"],
  ["münchen", "mnchen-3ya"],
])("Punycode of %s", (label, written) => {
  expect(punycode(label)).toBe(written);
});

test("agrees with the platform about hosts", () => {
  for (const host of [
    "Bücher.example",
    "faß.example",
    "例え.テスト",
    "0x7f.1",
    "127.1",
    "EXAMPLE.com",
    "xn--fa-hia.example",
  ]) {
    const url = new URL(`http://${host}/`);
    expect(canonicalHost(host), host).toBe(url.hostname);
  }
});
