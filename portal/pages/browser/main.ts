// The script of the portal's pages: it has authenticators answer the forms that ask for that, reads a file into a form,
// tells authenticators which passkeys are left, and keeps pushes live.

import { startAuthentication, startRegistration } from "@simplewebauthn/browser";
import { hydrateIslands } from "../../../web/browser/hydrate.ts";
import { Push } from "../push.ts";
import { Pushes } from "../pushes.ts";

type CreationOptions = Parameters<typeof startRegistration>[0]["optionsJSON"];
type RequestOptions = Parameters<typeof startAuthentication>[0]["optionsJSON"];

function askedOf(form: HTMLFormElement): Promise<object> {
  const options: unknown = JSON.parse(form.dataset["options"] ?? "{}");
  return form.dataset["ceremony"] === "create"
    ? startRegistration({ optionsJSON: options as CreationOptions })
    : startAuthentication({ optionsJSON: options as RequestOptions });
}

async function answer(form: HTMLFormElement): Promise<void> {
  const field = form.elements.namedItem("credential") as HTMLInputElement;
  const button = form.querySelector("button");
  const alert = form.querySelector<HTMLElement>("[role=alert]");
  if (button === null || alert === null || button.disabled) return;
  button.disabled = true;
  alert.hidden = true;
  try {
    field.value = JSON.stringify(await askedOf(form));
    form.submit();
  } catch {
    // The person changed their mind, or the authenticator has no passkey for this; they may try again.
    alert.hidden = false;
    button.disabled = false;
  }
}

hydrateIslands({ push: Push, pushes: Pushes });

for (const form of document.querySelectorAll<HTMLFormElement>("form[data-ceremony]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void answer(form);
  });
}

for (const input of document.querySelectorAll<HTMLInputElement>("input[data-into]")) {
  const { into = "", tooLarge = "" } = input.dataset;
  input.addEventListener("change", () => {
    const field = input.form?.elements.namedItem(into);
    const file = input.files?.[0];
    if (!(field instanceof HTMLTextAreaElement)) return;
    const isTooLarge = (file?.size ?? 0) > Number(input.dataset["bytes"] ?? field.maxLength);
    input.setCustomValidity(isTooLarge ? tooLarge : "");
    if (file === undefined || isTooLarge) return;
    void (input.dataset["bytes"] === undefined ? file.text() : base64Of(file)).then((text) => {
      field.value = text;
    });
  });
}

/** What follows the comma of a data URL. */
function base64Of(file: File): Promise<string> {
  const reader = new FileReader();
  return new Promise((resolve, reject) => {
    reader.addEventListener("load", () => resolve(String(reader.result).replace(/^[^,]*,/, "")));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

// The code of a link is after its #, and leaves the address once it is read.
for (const input of document.querySelectorAll<HTMLInputElement>("input[data-from-hash]")) {
  if (location.hash.length < 2) continue;
  input.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}

// A page that comes back from the history is as it was left.
addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll<HTMLButtonElement>("form[data-ceremony] button"))
    button.disabled = false;
});

/** Web Authentication Level 3, §5.1.10: a passkey that was removed is not offered any more. */
interface Signals {
  signalAllAcceptedCredentials?(accepted: object): Promise<void>;
}

const accepted = document.querySelector<HTMLElement>("[data-accepted]")?.dataset["accepted"];
if (accepted !== undefined && "PublicKeyCredential" in globalThis) {
  const signals = PublicKeyCredential as Signals;
  void signals.signalAllAcceptedCredentials?.(JSON.parse(accepted) as object).catch(() => {});
}
