// Parses the console blocks of a document as commands with their output, and compares that with the real output.
import { expect } from 'vitest';

export interface Typed {
  readonly command: string;
  readonly output: readonly string[];
}

/** `$ command` lines of all ```console blocks, each with the lines up to the next; `> ` continues the command. */
export function readTranscript(markdown: string): readonly Typed[] {
  const typed: { command: string; output: string[] }[] = [];
  for (const [, block = ''] of markdown.matchAll(/^```console\n([\s\S]*?)^```$/gm)) {
    for (const line of block.replace(/\n$/, '').split('\n')) {
      const last = typed.at(-1);
      if (line.startsWith('$ ')) typed.push({ command: line.slice(2), output: [] });
      else if (/^>( |$)/.test(line) && last?.output.length === 0) last.command += `\n${line.slice(2)}`;
      else last?.output.push(line);
    }
  }
  return typed;
}

/**
 * The parts that differ from run to run: durations, places of manifests, assigned addresses, ports of the daemon, fingerprints, sizes of images, padding that depends on them.
 */
export const withoutChance = (text: string): string =>
  text
    .replaceAll(/\b(?:\d+m)?\d+(?:\.\d)?s\b/g, '<time>')
    .replaceAll(/(?<=, declared at )\S+(?=\.$)/gm, '<place>')
    .replaceAll(/(?<=Running +)10\.\d+\.\d+\.\d+ +/g, '<address>  ')
    .replaceAll(/(?<=https:\/\/127\.0\.0\.1:)\d+/g, '<port>')
    .replaceAll(/\bADDRESSES +/g, 'ADDRESSES  ')
    .replaceAll(/\b10\.123\.0\.\d+(?!\d|\/)/g, '<address>')
    .replaceAll(/\b[0-9a-f]{64}\b/g, '<fingerprint>')
    .replaceAll(/\b[0-9a-f]{12}\b(?= \()/g, '<fingerprint>')
    .replaceAll(/\b\d+(?:\.\d+)?[kMG]i?B(?=\))/g, '<size>');

/** `...` in the expected output matches any lines, also none. */
export function expectOutput(command: string, expected: readonly string[], printed: string): void {
  const actual = withoutChance(printed).replace(/\n$/, '');
  const parts = withoutChance(expected.join('\n')).split(/^\.\.\.$/m);
  const pattern = parts
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`))
    .join(String.raw`(?:[\s\S]*)`);
  const isSame = new RegExp(`^${pattern}$`).test(actual);
  if (!isSame) expect(actual, `$ ${command}`).toBe(withoutChance(expected.join('\n')));
}
