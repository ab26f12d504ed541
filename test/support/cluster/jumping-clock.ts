// Makes the wall clock of one Node process jump: a preloaded module adds an offset from a file to Date. Monotonic time continues, as
// on a host whose clock is set.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface JumpingClock {
  /** For the environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  /** From the true time; takes effect within 50 ms. */
  jump(ms: number): void;
  remove(): void;
}

export function makeJumpingClock(): JumpingClock {
  const dir = mkdtempSync(join(tmpdir(), 'gtjc-'));
  const [file, module] = [join(dir, 'offset'), join(dir, 'clock.mjs')];
  writeFileSync(file, '0');
  writeFileSync(module, moduleText(file));
  return {
    env: { NODE_OPTIONS: `--import=${pathToFileURL(module).href}` },
    jump: (ms) => writeFileSync(file, String(Math.trunc(ms))),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

const moduleText = (file: string): string => `
import { readFileSync } from 'node:fs';
const True = Date;
let offset = 0;
setInterval(() => {
  try { offset = Number(readFileSync(${JSON.stringify(file)}, 'utf8')) || 0; } catch {}
}, 50).unref();
globalThis.Date = class Date extends True {
  constructor(...words) {
    if (words.length === 0) super(True.now() + offset);
    else super(...words);
  }
  static now() { return True.now() + offset; }
};
`;
