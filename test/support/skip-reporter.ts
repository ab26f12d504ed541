// Prints at the end of a run why tests were skipped, and fails it if a program is missing that this machine must have.
import type { UserConsoleLog } from 'vitest';
import type { Reporter } from 'vitest/node';

/** Not installed by .ci/run: Debian has no terraform, and its CRIU does not work on every kernel. */
const withoutPackage = ['terraform', 'criu'];

/** Lines with the reason of a skipped test. */
export const skipLines = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /\bskipped\b/u.test(line) && !line.startsWith('expect'));

/** The lines that name a missing program, except those that Debian lacks. */
export const missingPrograms = (lines: readonly string[]): readonly string[] =>
  lines.filter(
    (line) =>
      /\b(?:not installed|not found|not built)\b/u.test(line) && !withoutPackage.some((name) => line.includes(name)),
  );

/**
 * `.ci/run` sets GANTRY_ALL_PROGRAMS=1 after it has installed its packages: a test that then misses a program shows that the list of
 * packages is short. Vitest looks for a reporter in the default export.
 */
// oxlint-disable-next-line import/no-default-export
export default class SkipReporter implements Reporter {
  readonly #lines = new Set<string>();

  onUserConsoleLog({ content }: UserConsoleLog): void {
    for (const line of skipLines(content)) this.#lines.add(line);
  }

  onTestRunEnd(): void {
    const lines = [...this.#lines].toSorted();
    if (lines.length === 0) return;
    process.stdout.write(`\nTests that this machine cannot run:\n${lines.map((line) => `  ${line}\n`).join('')}`);
    const missing = missingPrograms(lines);
    if (process.env['GANTRY_ALL_PROGRAMS'] !== '1' || missing.length === 0) return;
    process.stdout.write(
      `\n.ci/run installs every program of the tests, but these miss one: add its package to the list there.\n${missing.map((line) => `  ${line}\n`).join('')}`,
    );
    process.exitCode = 1;
  }
}
