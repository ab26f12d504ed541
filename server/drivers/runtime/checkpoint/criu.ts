// CRIU's settings, figures and errors, and whether it works on this host.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { exec, ExecError } from '../../../lib/exec.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import type { CheckpointAbility } from '../driver.ts';
import { findProgram } from '../host/programs.ts';
import { programEnv } from '../../../lib/program-env.ts';
import { attempt } from '../../../lib/shared/attempt.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export interface CheckpointPrograms {
  readonly criu?: string;
  readonly lxcCheckpoint?: string;
}

export interface FoundPrograms {
  readonly criu: string;
  readonly lxcCheckpoint: string;
}

interface CriuAnswer {
  readonly ability: CheckpointAbility;
  /** Supports `network-lock skip`; CRIU 3.17 of Debian 12 does not. */
  readonly skipsNetworkLock: boolean;
}

/** Checks whether CRIU works on this kernel: once, and again when the program was replaced. */
export class CriuProbe {
  readonly #programs: CheckpointPrograms;
  #known: { readonly key: string; readonly answer: Promise<CriuAnswer> } | undefined;

  constructor(programs: CheckpointPrograms) {
    this.#programs = programs;
  }

  find(): Partial<FoundPrograms> {
    const { criu = findProgram('criu'), lxcCheckpoint = findProgram('lxc-checkpoint') } = this.#programs;
    return { ...withoutUndefined({ criu, lxcCheckpoint }) };
  }

  async available(): Promise<CheckpointAbility> {
    const { criu, lxcCheckpoint } = this.find();
    if (criu === undefined) return { ok: false, reason: 'the program criu is not installed (package criu)' };
    if (lxcCheckpoint === undefined)
      return { ok: false, reason: 'the program lxc-checkpoint is not installed (package lxc)' };
    const { ability } = await this.#ask(criu);
    return ability.ok ? toolsBeside(criu) : ability;
  }

  async settings(criu: string, wanted: CriuSettings = {}): Promise<string> {
    return criuSettings(wanted, (await this.#ask(criu)).skipsNetworkLock);
  }

  async #ask(criu: string): Promise<CriuAnswer> {
    const key = keyOf(criu);
    if (this.#known?.key !== key) this.#known = { key, answer: check(criu) };
    return await this.#known.answer;
  }
}

function toolsBeside(criu: string): CheckpointAbility {
  const missing = ruleTools.filter((tool) => !isFound(tool, dirname(criu)));
  if (missing.length === 0) return { ok: true };
  return { ok: false, reason: `CRIU needs programs that are not installed: ${missing.join(', ')} (package iptables)` };
}

const isFound = (tool: string, dir: string): boolean => existsSync(`${dir}/${tool}`) || findProgram(tool) !== undefined;

function keyOf(program: string): string {
  const found = statSync(program, { throwIfNoEntry: false });
  return `${program} ${found?.mtimeMs ?? 0} ${found?.size ?? 0}`;
}

async function check(criu: string): Promise<CriuAnswer> {
  if ((await abilityOf(criu, ...skipLock)).ok) return { ability: { ok: true }, skipsNetworkLock: true };
  return { ability: await abilityOf(criu), skipsNetworkLock: false };
}

async function abilityOf(criu: string, ...options: readonly string[]): Promise<CheckpointAbility> {
  try {
    await exec([criu, 'check', ...options], { env: criuEnvironment(criu, undefined), cwd: '/', timeoutMs: 30_000 });
    return { ok: true };
  } catch (error) {
    const said = error instanceof ExecError ? reasonsIn(error.stderr) : '';
    return { ok: false, reason: `CRIU does not work on this host: ${said === '' ? errorText(error) : said}` };
  }
}

/** LXC finds the program on this path; it reads its settings from the file. */
export function criuEnvironment(criu: string, settingsFile: string | undefined): Readonly<Record<string, string>> {
  return {
    PATH: `${dirname(criu)}:${programEnv.PATH}`,
    HOME: '/root',
    ...withoutUndefined({ CRIU_CONFIG_FILE: settingsFile }),
  };
}

const skipLock = ['--network-lock', 'skip'] as const;

export interface CriuSettings {
  /** Images of the previous pre-dump, relative to the new ones. */
  readonly previous?: string | undefined;
  /**
   * The control group of the container's init on cgroup v2, absolute below the hierarchy. LXC 5.0 names it to CRIU by controllers, which the
   * one hierarchy of v2 does not have: processes would be restored into the group that they were dumped from, of another daemon maybe.
   */
  readonly group?: string | undefined;
}

/** A checkpoint does not hold packets back if CRIU can do without: many kernels lack the support, and lost packets are resent. */
function criuSettings({ previous, group }: CriuSettings, skipsNetworkLock: boolean): string {
  const lines = [
    ...(skipsNetworkLock ? ['network-lock skip'] : []),
    ...(previous === undefined ? [] : ['track-mem', `prev-images-dir ${previous}`]),
    ...(group === undefined ? [] : [`cgroup-root ${group}`]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/** CRIU reads the container's network rules with these. */
const ruleTools = ['iptables-save', 'iptables-restore', 'ip6tables-save', 'ip6tables-restore'] as const;

const maxReasons = 4;

/** The last errors in CRIU's output or log: the last lines name the step, earlier ones the cause. */
export function reasonsIn(log: string): string {
  const said = [...log.matchAll(/\bError \([^)]*\): (.*)$/gm)]
    .map((match) => (match[1] ?? '').trim())
    .filter((text) => text !== '' && !isNoise(text));
  return [...new Set(said)].slice(-maxReasons).join('; ');
}

/** Printed in every run: helper programs, and limits that it may not raise here. */
const isNoise = (text: string): boolean => /^exited, status=|Can't setup RLIMIT_NOFILE/.test(text);

/** CRIU stopped a process that ended just then: it has changed nothing by then and lets the others run on. */
export const metEndingProcess = (log: string): boolean =>
  /Error \([^)]*\): (Unseizable non-zombie \d+ found|zombie found while seizing)/.test(log);

const statsFile = 'stats-dump';

/** CRIU writes its statistics last, and only on success. */
export const isCompleteDump = (dir: string): boolean => existsSync(`${dir}/${statsFile}`);

/** Percentage of pages that did not have to be copied again; 0 if unreadable. */
export const readUnchanged = (dir: string): number =>
  attempt(() => unchangedPercent(readFileSync(`${dir}/${statsFile}`)), 0);

/** Two magic numbers, a length, then a message whose field 1 is a message with the fields below (CRIU's images/stats.proto). */
export function unchangedPercent(stats: Uint8Array): number {
  const dump = readFields(stats.subarray(12)).get(1);
  if (!(dump instanceof Uint8Array)) return 0;
  const fields = readFields(dump);
  const count = (field: number): number => {
    const value = fields.get(field);
    return typeof value === 'number' ? value : 0;
  };
  const [scanned, skipped, written] = [count(5), count(6), count(7)];
  const all = Math.max(scanned, skipped + written);
  return all === 0 ? 0 : Math.floor((skipped * 100) / all);
}

/** Numbers and nested messages of a protobuf message; ends at the first thing that is neither. */
function readFields(bytes: Uint8Array): ReadonlyMap<number, number | Uint8Array> {
  const fields = new Map<number, number | Uint8Array>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; at < bytes.length; scale *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) break;
    }
    return value;
  };
  while (at < bytes.length) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    if (tag % 8 === 0) fields.set(field, varint());
    else if (tag % 8 === 2) {
      const length = varint();
      fields.set(field, bytes.subarray(at, at + length));
      at += length;
    } else break;
  }
  return fields;
}
