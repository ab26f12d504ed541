// Prints at the end of a run which tests passed only on retry. Changes no result.
import { relative } from 'node:path';
import type { Reporter, TestCase } from 'vitest/node';

/**
 * Each is a test that depends on time or on concurrent tests: it gets an entry in test/FLAKES.md and a fix. Vitest looks for a reporter
 * in the default export.
 */
// oxlint-disable-next-line import/no-default-export
export default class RetryReporter implements Reporter {
  readonly #retried: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return;
    const file = relative(process.cwd(), test.module.moduleId);
    const errors = (test.result().errors ?? []).map(({ message }) => `\n${firstLines(message)}`);
    this.#retried.push(`  ${file} > ${test.fullName}${errors.join('')}`);
  }

  onTestRunEnd(): void {
    const count = this.#retried.length;
    if (count === 0) return;
    const rule = '!'.repeat(100);
    const title = `FLAKY: ${count} ${count === 1 ? 'test' : 'tests'} passed at the second try only (see test/FLAKES.md):`;
    process.stdout.write(`\n${rule}\n${title}\n${this.#retried.join('\n')}\n${rule}\n`);
  }
}

/** Programs say their name first and what failed later. */
const firstLines = (message: string): string =>
  message
    .split('\n')
    .slice(0, 4)
    .map((line) => `    ${line}`)
    .join('\n');
