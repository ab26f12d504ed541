// npm run faults: long runs of kills and power cuts against the bundled programs; prints the figures, fails on any loss or orphan.
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { errorText } from '../../server/lib/shared/reason.ts';
import { seededRandom } from '../support/random.ts';
import { faultFailures, figuresTable, type SuiteFigures } from './report.ts';
import { faultSuites } from './suites.ts';

const lines = Object.entries(faultSuites).map(
  ([name, { doc, rounds }]) => `  ${name.padEnd(14)} ${doc} (${rounds} rounds)`,
);
const usage = `Usage: npm run faults -- [SUITE...] [--rounds N] [--only WORDS] [--seed N] [--json]

Suites (all of them when none is named):
${lines.join('\n')}

--rounds is how many faults each suite causes, --only WORDS (of the suite cluster) leaves out those without these words in their name, --seed repeats the choices of an earlier run.
`;

const exitCodes = { ok: 0, failed: 1, usage: 64 } as const;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  say(errorText(error));
  return exitCodes.failed;
});

async function main(argv: string[]): Promise<number> {
  const options = {
    rounds: { type: 'string' },
    only: { type: 'string' },
    seed: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  } as const;
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const wanted = positionals.length > 0 ? positionals : Object.keys(faultSuites);
  const unknown = wanted.filter((name) => faultSuites[name] === undefined);
  const [rounds, seed] = [values.rounds, values.seed].map((text) => (text === undefined ? undefined : Number(text)));
  const isWrong = [rounds, seed].some((each) => each !== undefined && (!Number.isInteger(each) || each < 1));
  if (values.help === true || unknown.length > 0 || isWrong) {
    if (unknown.length > 0) say(`there is no fault suite ${unknown.join(', ')}`);
    process.stderr.write(usage);
    return values.help === true ? exitCodes.ok : exitCodes.usage;
  }
  const only = values.only === undefined ? {} : { only: values.only };
  const figures = await runSuites(wanted, { ...only, rounds, seed });
  return print(figures, values.json === true);
}

/** An interrupt ends the running suite, which removes everything it made. */
async function runSuites(
  names: readonly string[],
  asked: { readonly rounds: number | undefined; readonly seed: number | undefined; readonly only?: string },
): Promise<readonly SuiteFigures[]> {
  const abort = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => abort.abort(new Error(`interrupted by ${name}`)));
  }
  const gantryd = fileURLToPath(new URL('../../bin/gantryd.js', import.meta.url));
  const all: SuiteFigures[] = [];
  for (const name of names) {
    const suite = faultSuites[name];
    if (suite === undefined) continue;
    const missing = await suite.missing();
    if (missing !== undefined) {
      say(`skipped: ${name}: ${missing}`);
      continue;
    }
    const { seed, rounds = suite.rounds, only } = asked;
    const random = seededRandom(seed);
    say(`${name}: ${rounds} rounds, --seed ${random.seed}`);
    const context = { rounds, ...(only === undefined ? {} : { only }), random, gantryd, say, signal: abort.signal };
    all.push(...(await suite.run(context)).map((figures) => ({ suite: name, ...figures })));
  }
  return all;
}

function print(figures: readonly SuiteFigures[], json: boolean): number {
  const failures = faultFailures(figures);
  if (json) process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
  else process.stdout.write(`\n${figuresTable(figures)}\n${failures.map((line) => `- ${line}\n`).join('')}`);
  return failures.length === 0 ? exitCodes.ok : exitCodes.failed;
}
