// Shared by the tests of examples: programs on the path of a shell, a page typed line by line, the golden plan with it.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { isLongRun } from '../left-out.ts';
import { buildPrograms, repository, runProcess, type Programs } from './programs.ts';
import { expectOutput, readTranscript, withoutChance } from './transcript.ts';

export const exampleFolder = (name: string): string => join(repository, 'examples', name);

/** Only on machines without real containers, or with GANTRY_LONG=1: a walk on real containers covers more. */
export const walksOnSimulation = (noRealContainers: string | undefined): boolean =>
  isLongRun || noRealContainers !== undefined;

/** An environment with `gantry` and `gantryd` in ROOT/path, where a shell finds them. */
export function buildShellPrograms(): Programs {
  const programs = buildPrograms();
  mkdirSync(join(programs.root, 'path'), { recursive: true });
  for (const name of ['gantry', 'gantryd'] as const) {
    const script = `#!/bin/sh\nexec ${process.execPath} ${programs[name]} "$@"\n`;
    writeFileSync(join(programs.root, 'path', name), script, { mode: 0o755 });
  }
  return programs;
}

export interface TypedExample {
  /** The directory below examples/. */
  readonly name: string;
  /** The page of docs/tutorials about it. Default: its README. */
  readonly tutorial?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The command as it is run here. */
  readonly typed?: (command: string) => string;
  /** The output in the form of the page. */
  readonly printed?: (text: string) => string;
  readonly before?: (command: string) => Promise<void>;
}

/** Every command of the page exits with 0 and prints the output below it; its first plan is the golden one. */
export async function typeExample(programs: Programs, example: TypedExample): Promise<void> {
  const { name, typed: asTyped = (text) => text, printed = (text) => text, before } = example;
  const env = { PATH: `${programs.root}/path:${process.env['PATH'] ?? ''}`, ...example.env };
  const page =
    example.tutorial === undefined
      ? join(exampleFolder(name), 'README.md')
      : join(repository, 'docs/tutorials', `${example.tutorial}.md`);
  const typed = readTranscript(readFileSync(page, 'utf8'));
  let isFirst = true;
  for (const { command, output } of typed) {
    await before?.(command);
    const here = asTyped(programs.replaced.here(command));
    const ran = await runProcess(['sh', '-c', `exec 2>&1; ${here}`], { cwd: programs.root, env });
    expect(ran.code, `$ ${command}\n${ran.stdout}`).toBe(0);
    const text = printed(programs.replaced.documented(ran.stdout));
    expectOutput(command, output, text);
    if (isFirst && command.startsWith('gantry plan ')) {
      expectGoldenPlan(name, text);
      isFirst = false;
    }
  }
  expect(isFirst, `${page} shows a plan`).toBe(false);
}

function expectGoldenPlan(name: string, plan: string): void {
  const golden = join(exampleFolder(name), 'golden-plan.txt');
  const text = withoutChance(plan);
  if (process.env['UPDATE'] === '1' || !existsSync(golden)) writeFileSync(golden, text);
  expect(text, `examples/${name}/golden-plan.txt; UPDATE=1 rewrites it`).toBe(readFileSync(golden, 'utf8'));
}
