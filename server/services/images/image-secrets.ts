// Secrets, by the qualified name of their image, that let a guest fetch one private image: valid until five seconds after their first use
// (spec 4.8).
import { randomBytes, timingSafeEqual } from 'node:crypto';

interface ImageSecret {
  readonly fingerprint: string;
  readonly secret: string;
  spend: () => void;
}

const graceMs = 5000;

export class ImageSecrets {
  readonly #issued = new Set<ImageSecret>();

  /** `spent` resolves when the secret is no longer valid; aborting its signal revokes the secret. */
  issue(fingerprint: string): { readonly secret: string; readonly spent: (signal: AbortSignal) => Promise<void> } {
    const issued: ImageSecret = { fingerprint, secret: randomBytes(32).toString('hex'), spend: () => {} };
    this.#issued.add(issued);
    const spent = (signal: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        issued.spend = resolve;
        signal.addEventListener('abort', () => {
          this.#issued.delete(issued);
          reject(new Error('the image secret was revoked'));
        });
      });
    return { secret: issued.secret, spent };
  }

  /** True if the secret is valid for the image; the first use starts its last five seconds. */
  use(fingerprint: string, secret: string): boolean {
    const found = [...this.#issued].find((issued) => issued.fingerprint === fingerprint && same(issued.secret, secret));
    if (found === undefined) return false;
    found.spend();
    setTimeout(() => this.#issued.delete(found), graceMs).unref();
    return true;
  }
}

function same(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
