// Masks secret values. A value is secret because of its key or its form, since config maps are free text.
import { seedKeys } from '../../../server/api/container/cloud-init-seed-keys.ts';
import type { Json, JsonObject } from './document.ts';

const secretWord =
  /pass(word|wd|phrase)|secret|token|credential|private[._-]?key|(api|access|ssh|auth|encryption)[._-]?key/i;
const secretEnding = /(^|[._-])(pass|pw|pwd|key)$/i;
/** Keys about the lifetime of a secret are not secret. */
const lifetime = /[._-](expiry|ttl|timeout)$/i;
/** Seeds of cloud-init often contain passwords. */
const seeds: ReadonlySet<string> = new Set(seedKeys);
const urlWithPassword = /:\/\/[^/\s:@]*:[^/\s@]+@/;

export const hidden = '(secret)';

/** Dotted paths whose values come from a secret store: they are secret regardless of key and form. */
export type DeclaredSecrets = readonly string[] | undefined;

const isDeclared = (segments: readonly string[], declared: DeclaredSecrets): boolean =>
  declared !== undefined && declared.includes(segments.join('.'));

export function isSecret(segments: readonly string[], value: Json | undefined, declared?: DeclaredSecrets): boolean {
  if (isDeclared(segments, declared)) return true;
  const key = segments.at(-1) ?? '';
  if (seeds.has(key)) return true;
  if (segments[0] === 'config' && key.startsWith('security.')) return false;
  if (lifetime.test(key)) return false;
  if (secretWord.test(key) || (segments.length > 1 && secretEnding.test(key))) return true;
  return typeof value === 'string' && urlWithPassword.test(value);
}

/** The value with every secret in it replaced. */
export function redact(value: Json, segments: readonly string[] = [], declared?: DeclaredSecrets): Json {
  if (typeof value !== 'object' || value === null) return isSecret(segments, value, declared) ? hidden : value;
  if (Array.isArray(value)) {
    return (value as readonly Json[]).map((item, index) =>
      isDeclared([...segments, String(index)], declared) ? hidden : redact(item, segments, declared),
    );
  }
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, item]) => [key, redact(item, [...segments, key], declared)]),
  );
}

/** `true` in place of every secret, like Terraform's `*_sensitive` members. */
export function sensitiveMarks(value: Json, segments: readonly string[] = [], declared?: DeclaredSecrets): JsonObject {
  const marks: Record<string, Json> = {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return marks;
  for (const [key, item] of Object.entries(value as JsonObject)) {
    const path = [...segments, key];
    if (typeof item !== 'object' || item === null) {
      if (isSecret(path, item, declared)) marks[key] = true;
      continue;
    }
    const inner = sensitiveMarks(item, path, declared);
    if (Object.keys(inner).length > 0) marks[key] = inner;
  }
  return marks;
}
