import { describe, expect, it } from "vitest";
import { parseMail } from "./mail-config.ts";

const whole = {
  SVC_SMTP_URL: "smtps://svc@mail.example",
  SVC_NOTICE_FROM: "notices@svc.example",
  SVC_NOTICE_RECIPIENTS: "/r.json",
  SVC_SMTP_PASSWORD_FILE: "/p",
};

describe("the settings of mail", () => {
  it("are read, with the usual ports", () => {
    expect(parseMail({})).toBeNull();
    expect(parseMail(whole)).toMatchObject({
      host: "mail.example",
      port: 465,
      isSecure: true,
      isPlain: false,
      user: "svc",
    });
    const local = { ...whole, SVC_SMTP_URL: "smtp://127.0.0.1:2525", SVC_SMTP_PASSWORD_FILE: undefined };
    expect(parseMail(local)).toMatchObject({ port: 2525, isSecure: false, isPlain: true, user: null });
  });

  it.each([
    ["SVC_SMTP_URL", { SVC_SMTP_URL: "http://mail.example" }],
    ["SVC_SMTP_URL", { SVC_SMTP_URL: "smtps://svc:secret@mail.example" }],
    ["SVC_SMTP_URL", { SVC_SMTP_URL: "mail.example:25" }],
    ["SVC_NOTICE_FROM", { SVC_NOTICE_FROM: "Notices <a@b.example>" }],
    ["SVC_NOTICE_FROM", { SVC_NOTICE_FROM: undefined }],
    ["SVC_NOTICE_RECIPIENTS", { SVC_SMTP_URL: undefined, SVC_NOTICE_FROM: undefined }],
    ["SVC_SMTP_PASSWORD_FILE", { SVC_SMTP_PASSWORD_FILE: undefined }],
    ["SVC_SMTP_PASSWORD_FILE", { SVC_SMTP_URL: "smtps://mail.example" }],
    ["SVC_NOTICE_FROM", { SVC_SMTP_URL: undefined }],
    ["SVC_SMTP_URL", { SVC_SMTP_URL: "smtp://svc@127.0.0.1:2525" }],
  ])("are refused by name: %s as in %j", (name, changes) => {
    expect(() => parseMail({ ...whole, ...changes })).toThrow(name);
  });
});
