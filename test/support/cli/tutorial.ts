// Types a page of docs/tutorials into one shell: exports persist, background programs end with the page.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { until } from '../until.ts';
import { repository, runProcess, plainEnv } from './programs.ts';
import { expectOutput, readTranscript } from './transcript.ts';

interface Typing {
  /** A folder with the programs. */
  readonly path: string;
  /** The command as it is run here, with other ports. */
  readonly typed?: (text: string) => string;
  readonly env?: Readonly<Record<string, string>>;
}

export async function typeTutorial(
  page: string,
  { path, typed: asTyped = (text) => text, env: more = {} }: Typing,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gtut-'));
  const env: Record<string, string> = {
    PATH: `${path}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    GANTRY_PLACE: '',
    ...more,
  };
  const background: ChildProcess[] = [];
  try {
    for (const { command, output } of readTranscript(readFileSync(join(repository, 'docs/tutorials', page), 'utf8'))) {
      const here = asTyped(command);
      const [, name, value] = /^export (\w+)=(.*)$/.exec(here) ?? [];
      if (name !== undefined && value !== undefined) env[name] = value.replace('$PWD', folder);
      else if (here.endsWith(' &')) background.push(await inBackground(here, folder, env));
      else {
        const ran = await runProcess(['sh', '-c', `exec 2>&1; ${here}`], { cwd: folder, env });
        expect(ran.code, `$ ${command}\n${ran.stdout}`).toBe(0);
        expectOutput(command, output, ran.stdout.replaceAll(folder, '.'));
      }
    }
  } finally {
    for (const child of background.toReversed()) await ended(child);
  }
}

async function inBackground(command: string, cwd: string, env: Record<string, string>): Promise<ChildProcess> {
  const child = spawn('sh', ['-c', `exec ${command.slice(0, -2)}`], {
    cwd,
    env: { ...plainEnv(), ...env },
    stdio: 'ignore',
  });
  const [, state] = /--state-dir (\S+)/.exec(command) ?? [];
  if (state !== undefined) await until(() => existsSync(join(cwd, state, 'unix.socket')));
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGTERM');
  await closed;
}
