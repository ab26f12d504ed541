// The hash chain of the audit log: each line has its own hash and that of the line before, which reveals removed and changed lines. Pure.
import { createHash } from 'node:crypto';
import type { AuditCheck, AuditEntry } from '../contract/index.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** The end of the chain, to which the next entry is linked. */
export interface Link {
  readonly number: number;
  /** Absent in lines of versions without a chain. */
  readonly hash?: string;
}

export const emptyChain: Link = { number: 0, hash: '' };

type Written = Omit<AuditEntry, 'number'>;

/** The line of an entry after `before`, and the new end of the chain. */
export function chained(entry: Written, before: Link): { readonly line: string; readonly link: Link } {
  const number = before.number + 1;
  const body = JSON.stringify({ number, ...entry });
  const hash = hashOf(body, before.hash ?? '');
  return { line: `${body.slice(0, -1)},"hash":"${hash}"}\n`, link: { number, hash } };
}

const hashOf = (body: string, before: string): string =>
  createHash('sha256').update(`${before}\n${body}`).digest('hex');

const ending = /,"hash":"([0-9a-f]{64})"\}$/;

/** `place`: the number for a line without one. Undefined for a truncated line. */
export function entryOf(line: string, place: number): AuditEntry | undefined {
  try {
    const { hash: _hash, ...entry } = JSON.parse(line) as Omit<AuditEntry, 'number'> & {
      number?: number;
      hash?: string;
    };
    return typeof entry.at === 'string' ? { ...entry, number: entry.number ?? place } : undefined;
  } catch {
    return undefined;
  }
}

export function linkOf(line: string, place: number): Link | undefined {
  const entry = entryOf(line, place);
  const [, hash] = ending.exec(line) ?? [];
  return entry === undefined ? undefined : { number: entry.number, ...withoutUndefined({ hash }) };
}

const maxProblems = 20;

/** Follows the chain line by line. */
export class ChainCheck {
  readonly #problems: string[] = [];
  #before: Link | undefined;
  #entries = 0;
  #cutOff = 0;
  #unchained = 0;
  #first: number | undefined;

  /** `name`: of its file, for messages. */
  line(line: string, place: number, name: string): void {
    if (line === '') return;
    const link = linkOf(line, place);
    if (link === undefined) {
      this.#cutOff += 1;
      return;
    }
    this.#entries += 1;
    this.#first ??= link.number;
    this.#follow(line, link, `${name}:${place}`);
    this.#before = link;
  }

  #follow(line: string, { number, hash }: Link, at: string): void {
    const before = this.#before;
    if (hash === undefined) {
      this.#unchained += 1;
      if (before?.hash !== undefined) this.#problem(`${at}: the entry has no hash, although the one before has`);
      return;
    }
    // The first file may be archived elsewhere, so the next file may begin with an unknown hash.
    const previous = before === undefined ? (number === 1 ? emptyChain : undefined) : before;
    if (before !== undefined && number !== before.number + 1)
      return this.#problem(`${at}: entry ${number} follows entry ${before.number}: what was between them is gone`);
    if (previous !== undefined && hash !== hashOf(`${line.replace(ending, '')}}`, previous.hash ?? ''))
      this.#problem(`${at}: entry ${number} was changed, or the one before it was`);
  }

  #problem(text: string): void {
    this.#problems.push(text);
  }

  get result(): AuditCheck {
    const { number, hash } = this.#before ?? emptyChain;
    const more = this.#problems.length - maxProblems;
    return {
      entries: this.#entries,
      first: this.#first ?? 0,
      last: number,
      hash: hash ?? '',
      cutOff: this.#cutOff,
      unchained: this.#unchained,
      problems: [...this.#problems.slice(0, maxProblems), ...(more > 0 ? [`${more} more`] : [])],
    };
  }
}
