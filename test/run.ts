// Runs the whole test suite and says which files took longest; in CI a file that failed is run once more, alone and in a new process,
// and named as flaky when it then passes. Decides nothing about tests themselves: vitest.config.ts does.
import { isLongRun, leftOut, longFilesIn } from './support/left-out.ts';
import { keepTestsInMemory } from './support/memory-folder.ts';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    /** Milliseconds since 1970. */
    readonly startTime: number;
    readonly endTime: number;
  }[];
}

const rule = '!'.repeat(100);

/** More failed files than this are no chance failures: the suite is red at once. */
const maxFlakyFiles = 5;

function vitest(args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const command = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...args];
    const child = spawn(process.execPath, command, { stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

function printSlowest({ testResults }: VitestReport): void {
  const seconds = testResults.map((each) => ({ ...each, seconds: (each.endTime - each.startTime) / 1000 }));
  const slowest = seconds.toSorted((one, other) => other.seconds - one.seconds).slice(0, 25);
  const lines = slowest.map(
    (each) => `${each.seconds.toFixed(1).padStart(6)} s  ${relative(process.cwd(), each.name)}`,
  );
  console.log(`The slowest files (see test/support/long-files.ts):\n${lines.join('\n')}`);
}

const failedFiles = ({ testResults }: VitestReport): readonly string[] =>
  testResults.filter((each) => each.status === 'failed').map((each) => relative(process.cwd(), each.name));

async function runSuite(args: readonly string[]): Promise<number> {
  if (leftOut.length > 0) console.log(`left out for their length (npm run test:long runs them): ${leftOut.join(', ')}`);
  const work = await mkdtemp(join(tmpdir(), 'gantry-test-report-'));
  try {
    const reportFile = join(work, 'report.json');
    const reporters = ['default', 'json', './test/support/retry-reporter.ts', './test/support/skip-reporter.ts'].map(
      (name) => `--reporter=${name}`,
    );
    const code = await vitest([...args, ...reporters, `--outputFile.json=${reportFile}`]);
    // Without one Vitest itself has failed, and said why.
    if (!existsSync(reportFile)) return code || 1;
    const report = JSON.parse(await readFile(reportFile, 'utf8')) as VitestReport;
    printSlowest(report);
    if (code === 0 || process.env['CI'] !== 'true') return code;
    const failed = failedFiles(report);
    if (failed.length === 0 || failed.length > maxFlakyFiles) return code;
    console.log(`\nRunning again, alone: ${failed.join(', ')}`);
    const again = await vitest([...failed, '--maxWorkers=1', '--retry=0']);
    if (again === 0)
      console.log(`${rule}\nFLAKY: failed twice, passed alone (see test/FLAKES.md): ${failed.join(', ')}\n${rule}`);
    return again;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const removeFolder = keepTestsInMemory();
try {
  const [flag, ...rest] = process.argv.slice(2);
  // They time kills and loads: one file at a time.
  const onlyLong =
    flag === '--only-long' && isLongRun ? [...longFilesIn('test'), '--maxWorkers=1', ...rest] : undefined;
  process.exitCode = await runSuite(onlyLong ?? process.argv.slice(2));
} finally {
  removeFolder();
}
