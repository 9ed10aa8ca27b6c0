// A notice to the people of a party in words, on pages and in mail.

import type { PersonNotice } from "../actors/messages/notices.ts";
import { wording } from "./language.ts";

/** `name` is what the person is called whom it is about. The title has nothing in it that anybody chose. */
export function noticeWords(
  notice: PersonNotice,
  name: string,
): { readonly title: string; readonly words: string } {
  const { kinds } = wording().portal.notices;
  const { roles } = wording().portal.business;
  switch (notice.kind) {
    case "push.ended":
      return kinds[notice.kind](notice);
    case "push.held":
      return kinds[notice.kind](notice);
    case "mandate.ends":
      return kinds[notice.kind](notice);
    case "certificate.ends":
      return kinds[notice.kind](notice);
    case "key.network":
      return kinds[notice.kind](notice);
    case "takedown":
      return kinds[notice.kind](notice);
    case "sealer.added":
      return kinds[notice.kind](notice);
    case "webhook.off":
      return kinds[notice.kind](notice);
    case "role.changed": {
      const { role, by } = notice;
      return kinds[notice.kind]({ name, role: role === null ? null : roles[role], by });
    }
    case "owner.recovery":
      return kinds[notice.kind]({ ...notice, name });
  }
}
