// Reloads gantry.yaml and the hosts file when they change or on request, and applies the differences to the running engine.
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { pause } from '../../../server/lib/shared/deadline.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { ControllerConfig } from '../config/config.ts';
import { readConfig } from '../config/read-config.ts';
import type { Engine } from '../engine.ts';
import type { Hub } from '../hub.ts';
import { hostsFor, openNotifier, placed } from '../start.ts';
import { changesBetween, changesText, type Configuration } from './changes.ts';

export interface ReloaderDeps {
  readonly engine: Engine;
  readonly hub: Hub;
  /** The API, if there is one. */
  readonly api?: { prepare(config: ControllerConfig): Promise<() => void> };
  /** Time between two checks of the files. */
  readonly lookMs?: number;
}

/** A file counts as completely written when it stays unchanged for this long. */
const settleMs = 300;

export class Reloader {
  readonly #deps: ReloaderDeps;
  #working: Promise<void> | undefined;
  #isAsked = false;
  #reported = '';

  constructor(deps: ReloaderDeps) {
    this.#deps = deps;
  }

  /** Reads both files now. A call during a reload triggers another one after it. */
  async reload(): Promise<void> {
    this.#isAsked = true;
    this.#working ??= this.#work().finally(() => (this.#working = undefined));
    await this.#working;
  }

  /** Polls the files until `signal` fires. Compares contents, which works however an editor or a mount replaces them. */
  async watch(signal: AbortSignal): Promise<void> {
    const { lookMs = 2000 } = this.#deps;
    let seen: string | undefined;
    while (!signal.aborted) {
      const text = await this.#texts();
      // After a problem it retries without a change: a file that the configuration names may exist now.
      if (text !== seen || this.#reported !== '') {
        await pause(Math.min(settleMs, lookMs), signal).catch(() => undefined);
        if (!signal.aborted && (await this.#texts()) === text) {
          seen = text;
          await this.reload();
        }
      }
      await pause(lookMs, signal).catch(() => undefined);
    }
    await this.#working;
  }

  async #texts(): Promise<string> {
    const { file, hostsFile } = this.#deps.engine.configured.config;
    const texts = await Promise.all([file, hostsFile].map((path) => readFile(path, 'utf8').catch(() => undefined)));
    return JSON.stringify(texts);
  }

  async #work(): Promise<void> {
    while (this.#isAsked) {
      this.#isAsked = false;
      const problems = await this.#deps.engine
        .reconfigure((old) => this.#take(old))
        .catch((error: unknown) => [reasonOf(error)]);
      this.#reportOnce(problems);
    }
  }

  /** Returns why the new configuration is not in use. */
  async #take(old: Configuration): Promise<readonly string[]> {
    const { engine, hub, api } = this.#deps;
    const { config: written, diagnostics } = await readConfig(old.config.file);
    if (written === undefined) return textsOf(diagnostics);
    const { hosts, diagnostics: hostProblems } = await hostsFor(written);
    if (hosts === undefined) return textsOf(hostProblems);
    const generated = engine.complete(written, hosts);
    if (generated.findings.length > 0) return textsOf(placed(written, generated.findings));
    const { config } = generated;
    const next: Configuration = { config, hosts, generated };
    const changes = changesBetween(old, next);
    if (changes.refused.length > 0) return changes.refused;
    const text = changesText(changes);
    if (text === '' && isDeepStrictEqual(plain(old), plain(next))) return [];
    const grant = await api?.prepare(config);
    if (text !== '') hub.log('info', `the configuration changed: ${text}`);
    await engine.change(next, changes, () => {
      grant?.();
      return changes.notifications ? openNotifier(config, hub) : undefined;
    });
    return [];
  }

  #reportOnce(problems: readonly string[]): void {
    const { engine, hub } = this.#deps;
    engine.configProblems = problems;
    const text = problems.join('; ');
    if (text === this.#reported) return;
    this.#reported = text;
    if (text === '') hub.log('info', 'the configuration has no problems now');
    else hub.log('error', `the new configuration is not used, the old one stays in force: ${text}`);
  }
}

/** Drops members that differ at each read. */
const plain = ({ config, generated }: Configuration): unknown => ({
  ...config,
  locate: undefined,
  readGenerated: undefined,
  problems: generated?.problems,
});

const textsOf = (diagnostics: readonly Diagnostic[]): readonly string[] =>
  diagnostics
    .filter(({ severity }) => severity === 'error')
    .map(({ file, line, column, message, remedy }) => {
      const place = file === undefined ? '' : `${file}:${line ?? 1}:${column ?? 1}: `;
      return `${place}${message}${remedy === undefined ? '' : ` (${remedy})`}`;
    });
