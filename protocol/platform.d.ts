// The few Web-platform globals that the pure folders may use. Every runtime that the verifier supports (Node, browsers,
// workers) has them. Declaring them here, instead of including the DOM or Node libraries, keeps clocks, timers, sockets and
// files out of these folders.

declare class TextEncoder {
  encode(input?: string): Uint8Array<ArrayBuffer>;
  encodeInto(source: string, destination: Uint8Array): { read: number; written: number };
}

declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  decode(input?: Uint8Array, options?: { stream?: boolean }): string;
}
