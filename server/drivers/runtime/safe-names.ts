// Encodes a container name as one safe word, for paths, cgroups and LXC's own name. One-way: keep the name beside it.
import { createHash } from 'node:crypto';

const longest = 180;

/** Injective. Letters, digits, `_`, `.` and `-` stay, but no leading dot or dash; other bytes become `@` and two hex digits. */
export function encodeName(name: string): string {
  if (name.length <= longest && /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(name)) return name;
  const encoded = [...Buffer.from(name, 'utf8')]
    .map((byte, index) => {
      const char = String.fromCharCode(byte);
      const plain = index === 0 ? /[A-Za-z0-9_]/ : /[A-Za-z0-9_.-]/;
      return plain.test(char) ? char : `@${byte.toString(16).padStart(2, '0')}`;
    })
    .join('');
  if (encoded.length <= longest) return encoded;
  // Cannot collide with a short encoding: none contains "@@".
  return `${encoded.slice(0, longest - 34)}@@${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
}

/** Distinguishes the drivers of several daemons on one host. */
export function dirTag(dir: string): string {
  return createHash('sha256').update(dir).digest('hex').slice(0, 8);
}

/** For a shell, as one word. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
