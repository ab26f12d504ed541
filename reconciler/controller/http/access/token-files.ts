// The tokens of users and programs, one file each. Changes take effect within seconds; removing a file revokes its token.
import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import type { TokenSettings } from '../settings.ts';

export interface TokenUser {
  readonly name: string;
  readonly role: TokenSettings['role'];
  /** As in commits. */
  readonly mails?: readonly string[];
  /** SHA-256 of the token. */
  readonly key: Buffer;
}

/** `openssl rand -hex 16` has 32 characters. Shorter ones could be guessed. */
const [minLength, maxLength] = [20, 4096];
const rereadMs = 3000;

const keyOf = (token: string): Buffer => createHash('sha256').update(token).digest();

export class TokenFiles {
  #settings: readonly TokenSettings[];
  readonly #nowMs: () => number;
  readonly #warn: (message: string) => void;
  #users: readonly TokenUser[] = [];
  #readAtMs = -Infinity;
  #reading: Promise<void> | undefined;
  #warned = '';

  /** Throws when a file cannot be used. */
  static async open(
    settings: readonly TokenSettings[],
    nowMs: () => number,
    warn: (message: string) => void,
  ): Promise<TokenFiles> {
    const files = new TokenFiles(settings, nowMs, warn);
    const problems = await files.#read();
    if (problems.length > 0) throw new Error(problems.join('; '));
    return files;
  }

  private constructor(settings: readonly TokenSettings[], nowMs: () => number, warn: (message: string) => void) {
    this.#settings = settings;
    this.#nowMs = nowMs;
    this.#warn = warn;
  }

  /** Switches to the tokens of `other`, which were checked before. */
  take(other: TokenFiles): void {
    this.#settings = other.#settings;
    this.#users = other.#users;
    this.#readAtMs = other.#readAtMs;
    this.#warned = '';
  }

  get isEmpty(): boolean {
    return this.#settings.length === 0;
  }

  async userOf(token: string): Promise<TokenUser | undefined> {
    await this.refresh();
    const key = keyOf(token.slice(0, maxLength + 1));
    // Compares with every token, so that the time does not reveal the match.
    return this.#users.reduce<TokenUser | undefined>(
      (found, user) => (timingSafeEqual(user.key, key) ? user : found),
      undefined,
    );
  }

  /** Whether the user's token is still the one that began the session. */
  holds(user: TokenUser): boolean {
    return this.#users.some(
      ({ name, role, key }) => name === user.name && role === user.role && timingSafeEqual(key, user.key),
    );
  }

  async refresh(): Promise<void> {
    if (this.#nowMs() - this.#readAtMs < rereadMs) return;
    this.#reading ??= this.#reread().finally(() => (this.#reading = undefined));
    await this.#reading;
  }

  async #reread(): Promise<void> {
    const problems = (await this.#read()).join('; ');
    if (problems !== '' && problems !== this.#warned) this.#warn(problems);
    this.#warned = problems;
  }

  async #read(): Promise<readonly string[]> {
    const problems: string[] = [];
    const users = await Promise.all(
      this.#settings.map(async ({ name, role, file, mails = [] }): Promise<readonly TokenUser[]> => {
        try {
          const token = (await readFile(file, 'utf8')).trim();
          if (token.length >= minLength && token.length <= maxLength && !/\s/.test(token))
            return [{ name, role, mails, key: keyOf(token) }];
          problems.push(
            `The token of ${name} in ${file} must be one word of ${minLength} to ${maxLength} characters: ` +
              'make one with openssl rand -hex 32',
          );
        } catch (error) {
          problems.push(
            `The token of ${name} cannot be read: ${reasonOf(error)}; make one with openssl rand -hex 32 > ${file}`,
          );
        }
        return [];
      }),
    );
    this.#users = users.flat();
    this.#readAtMs = this.#nowMs();
    return problems;
  }
}
