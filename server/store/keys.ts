// Key rules common to all backends: bytewise order, well-formedness, limits of one call. Pure.
import { type Compare, type Op, type RangeOptions, type StoreErrorCode, StoreError, storeLimits } from './store.ts';

const loneSurrogate = /\p{Surrogate}/u;

/** Bytewise (UTF-8) order, which is code point order; JavaScript's `<` is UTF-16 order and differs above U+D7FF. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return codePointRank(x) - codePointRank(y);
  }
  return a.length - b.length;
}

/** Moves surrogates (which stand for code points above U+FFFF) behind all other code units. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

export function opKey(op: Op): string {
  return 'put' in op ? op.put : op.del;
}

export function checkKey(key: string): void {
  if (key === '') refuse('Invalid', 'a key must not be empty');
  checkText(key);
}

/** Refuses a prefix, or an `after`, without a UTF-8 form. */
export function checkText(text: string): void {
  if (loneSurrogate.test(text)) refuse('Invalid', `key ${JSON.stringify(text)} is not well-formed Unicode`);
  if (Buffer.byteLength(text) > storeLimits.keyBytes) {
    refuse('TooLarge', `key ${text.slice(0, 40)}... is longer than ${storeLimits.keyBytes} bytes`);
  }
}

export function checkRange(prefix: string, options: RangeOptions): void {
  checkText(prefix);
  if (options.after !== undefined) checkText(options.after);
  const { limit } = options;
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0))
    refuse('Invalid', `limit ${limit} is not positive`);
}

export function checkRev(rev: number, what: string): void {
  if (!Number.isSafeInteger(rev) || rev < 0) refuse('Invalid', `${what} ${rev} is not a revision`);
}

export function checkTtl(ttlSeconds: number): void {
  if (!(Number.isFinite(ttlSeconds) && ttlSeconds > 0)) refuse('Invalid', `time to live ${ttlSeconds} is not positive`);
}

/** Throws for a transaction that some backend could not accept, with the first reason. */
export function checkTxn(ifAll: readonly Compare[], then: readonly Op[]): void {
  if (ifAll.length > storeLimits.comparesPerTxn) {
    refuse('TooLarge', `${ifAll.length} compares in one transaction, at most ${storeLimits.comparesPerTxn}`);
  }
  if (then.length > storeLimits.opsPerTxn) {
    refuse('TooLarge', `${then.length} operations in one transaction, at most ${storeLimits.opsPerTxn}`);
  }
  for (const { key, modRev } of ifAll) {
    checkKey(key);
    checkRev(modRev, `compare of ${key}:`);
  }
  checkOps(then);
}

function checkOps(then: readonly Op[]): void {
  const seen = new Set<string>();
  let bytes = 0;
  for (const op of then) {
    const key = opKey(op);
    checkKey(key);
    if (seen.has(key)) refuse('Invalid', `the key ${key} occurs twice in one transaction`);
    seen.add(key);
    bytes += Buffer.byteLength(key) + ('put' in op ? op.value.byteLength : 0);
    if ('put' in op && op.value.byteLength > storeLimits.valueBytes) {
      refuse('TooLarge', `value of ${key} has ${op.value.byteLength} bytes, at most ${storeLimits.valueBytes}`);
    }
  }
  if (bytes > storeLimits.txnBytes) {
    refuse('TooLarge', `transaction of ${bytes} bytes, at most ${storeLimits.txnBytes}`);
  }
}

function refuse(code: StoreErrorCode, message: string): never {
  throw new StoreError(code, message);
}
